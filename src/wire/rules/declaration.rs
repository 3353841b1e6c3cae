//! Rules about what a provider declares (H2, C5) and what a host asks (F4).

use crate::wire::capability::{Capabilities, ProviderInfo};
use crate::wire::frame::Representation;
use crate::wire::query::ContextQuery;
use crate::wire::rules::{Rule, Violation, closed_words};
use crate::wire::text::is_blank;
use crate::wire::time::Timestamp;

/// Judges who a provider says it is: name and version (H2), and a data flow that does not
/// contradict itself (C5).
#[must_use]
pub fn check_info(info: &ProviderInfo) -> Vec<Violation> {
    let mut found = Vec::new();
    for (member, text) in [("name", &info.name), ("version", &info.version)] {
        if is_blank(text) {
            found.push(Violation::new(Rule::H2, member, "is blank"));
        }
    }
    for (index, scope) in info.data_flow.egress_scopes.iter().enumerate() {
        let member = format!("data_flow.egress_scopes[{index}]");
        if !scope.is_valid() {
            let message = format!("`{scope}` is neither a known scope nor of the form vendor:name");
            found.push(Violation::new(Rule::C5, member, message));
        } else if scope.is_off_machine() && !info.data_flow.egress {
            let message = format!("`{scope}` leaves the machine, but egress is false");
            found.push(Violation::new(Rule::C5, member, message));
        }
    }
    found
}

/// Judges what a provider says it can do: known representations, and `resolve` beside those
/// that need it.
#[must_use]
pub fn check_capabilities(capabilities: &Capabilities) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, representation) in capabilities.representations.iter().enumerate() {
        let member = format!("representations[{index}]");
        closed_words!(found, member => representation);
    }
    let needs_resolve = [Representation::Compact, Representation::Reference];
    for representation in needs_resolve {
        if capabilities.representations.contains(&representation) && !capabilities.resolve {
            let message = format!("is false, but `{representation}` is offered");
            found.push(Violation::new(Rule::Resolve, "resolve", message));
        }
    }
    found
}

/// Judges a query before it is sent or answered: `as_of` is a timestamp (F4), and the
/// preferred representations are known.
#[must_use]
pub fn check_query(query: &ContextQuery) -> Vec<Violation> {
    let mut found = Vec::new();
    if let Some(Err(error)) = query.as_of.as_deref().map(Timestamp::parse) {
        found.push(Violation::new(Rule::F4, "as_of", error.to_string()));
    }
    for (index, representation) in query.representation_preferences.iter().enumerate() {
        let member = format!("representation_preferences[{index}]");
        closed_words!(found, member => representation);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{check_capabilities, check_info, check_query};
    use crate::wire::capability::{Capabilities, ProviderInfo};
    use crate::wire::frame::Representation;
    use crate::wire::query::ContextQuery;
    use crate::wire::scope::EgressScope;

    fn rules(found: &[super::Violation]) -> Vec<&str> {
        found.iter().map(|it| it.rule.as_str()).collect()
    }

    #[test]
    fn a_provider_has_a_name_and_a_version() {
        assert!(check_info(&ProviderInfo::local("docs", "1")).is_empty());
        let nameless = ProviderInfo::local(" \u{200b}", "");
        assert_eq!(rules(&check_info(&nameless)), ["H2", "H2"]);
    }

    #[test]
    fn scopes_and_egress_agree() {
        let check = |egress: bool, scopes: &[&str], n_violations: usize| {
            let mut info = ProviderInfo::local("docs", "1");
            info.data_flow.egress = egress;
            info.data_flow.egress_scopes = scopes.iter().map(|&it| it.into()).collect();
            let found = check_info(&info);
            assert_eq!(found.len(), n_violations, "{egress} {scopes:?} {found:?}");
            assert!(found.iter().all(|it| it.rule.as_str() == "C5"));
        };
        check(false, &[], 0);
        check(false, &["local-only"], 0);
        check(true, &["third-party-index", "local-only"], 0);
        check(true, &["acme:x"], 0);
        check(true, &[], 0);
        check(false, &["third-party-index"], 1);
        check(false, &["acme:x"], 1);
        check(true, &["acme"], 1);
        check(false, &["acme", "org-tenant"], 2);
        let flow = &ProviderInfo::local("docs", "1").data_flow;
        assert!(!flow.leaves_machine());
        assert!(EgressScope::from("acme").is_off_machine());
    }

    #[test]
    fn handles_need_resolve() {
        let mut capabilities = Capabilities {
            representations: vec![Representation::Full, "outline".into()],
            ..Capabilities::default()
        };
        assert_eq!(rules(&check_capabilities(&capabilities)), ["closed-word"]);
        capabilities.representations = vec![Representation::Compact];
        assert_eq!(rules(&check_capabilities(&capabilities)), ["resolve"]);
        capabilities.resolve = true;
        assert!(check_capabilities(&capabilities).is_empty());
    }

    #[test]
    fn a_query_asks_for_an_instant() {
        let mut query = ContextQuery::new("g", 1, 1);
        assert!(check_query(&query).is_empty());
        query.as_of = Some("2026-01-31".to_owned());
        assert_eq!(rules(&check_query(&query)), ["F4"]);
    }
}
