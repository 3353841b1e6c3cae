//! Where data goes: egress scopes (C5, C6).

use crate::wire::vocabulary::vocabulary;

vocabulary! {
    /// Where a provider sends what it sees. An open list: vendors add `vendor:name`.
    EgressScope {
        /// Nothing leaves the machine.
        LocalOnly = "local-only",
        /// It leaves the machine but stays in the organisation's own infrastructure.
        OrgTenant = "org-tenant",
        /// An external index or embedding service.
        ThirdPartyIndex = "third-party-index",
        /// An external model API.
        ThirdPartyModel = "third-party-model",
    }
}

impl EgressScope {
    /// Whether data leaves the machine: everything but `local-only`, unknown scopes included.
    #[must_use]
    pub fn is_off_machine(&self) -> bool {
        *self != Self::LocalOnly
    }

    /// Whether the scope is on the list, or a vendor's `vendor:name` with both sides not empty (U3).
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Other(word) => {
                let sides = word.split_once(':');
                sides.is_some_and(|(vendor, name)| !vendor.is_empty() && !name.is_empty())
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EgressScope;

    #[test]
    fn only_local_stays() {
        for (word, off_machine, valid) in [
            ("local-only", false, true),
            ("org-tenant", true, true),
            ("third-party-index", true, true),
            ("acme:x", true, true),
            ("a:b:c", true, true),
            ("acme:", true, false),
            (":x", true, false),
            ("acme", true, false),
            ("Local-Only", true, false),
            ("", true, false),
        ] {
            let scope = EgressScope::from(word);
            assert_eq!(scope.is_off_machine(), off_machine, "{word}");
            assert_eq!(scope.is_valid(), valid, "{word}");
        }
    }
}
