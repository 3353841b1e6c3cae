use serde_json::Value;

use super::{Form, Need, Shape};
use crate::codec::tests::everything;

/// Every member of the shape is in the message and every member of the message in the shape.
fn same_members(shape: &Shape, value: &Value, path: &str) {
    let object = value
        .as_object()
        .unwrap_or_else(|| panic!("{path} is an object"));
    let mut wanted: Vec<_> = shape.members.iter().map(|it| it.name).collect();
    let mut there: Vec<_> = object
        .keys()
        .map(String::as_str)
        .filter(|&it| it != "type" || !path.is_empty())
        .collect();
    wanted.sort_unstable();
    there.sort_unstable();
    assert_eq!(wanted, there, "{} at `{path}`", shape.name);
    for member in shape.members {
        same_form(
            &member.form,
            &object[member.name],
            &format!("{path}.{}", member.name),
        );
    }
}

fn same_form(form: &Form, value: &Value, path: &str) {
    match form {
        Form::Leaf(check) => check(&value.to_string()).unwrap(),
        Form::Object(shape) => same_members(shape, value, path),
        Form::List(element, _) => {
            let elements = value.as_array().unwrap();
            assert!(!elements.is_empty(), "{path} shows an element");
            for value in elements {
                same_form(element, value, path);
            }
        }
    }
}

/// What a shape calls required is what the reader needs.
fn same_needs(shape: &Shape, line: &Value, decodes: &dyn Fn(&Value) -> bool) {
    for member in shape.members {
        let mut without = line.clone();
        without.as_object_mut().unwrap().remove(member.name);
        let is_required = member.need == Need::Required;
        assert_eq!(
            decodes(&without),
            !is_required,
            "{} {}",
            shape.name,
            member.name
        );
    }
}

#[test]
fn shapes_and_wire_types_have_the_same_members() {
    for (shape, envelope) in everything() {
        let value = serde_json::to_value(&envelope).unwrap();
        same_members(shape, &value, "");
        same_needs(shape, &value, &|line| {
            let line = line.to_string();
            matches!(
                crate::codec::decode(line.as_bytes()),
                crate::codec::Decoded::Envelope { .. }
            )
        });
    }
}
