//! The gate: no payload leaves before it has said yes (C1, C2, C6).
//!
//! There is no ledger of consents yet, so a provider that sends anything off the machine is
//! refused, always.

use crate::error::{Error, Result};
use crate::wire::capability::ProviderInfo;
use crate::wire::identity::ProviderId;

/// Lets only providers through that keep everything on this machine.
pub(super) fn check(provider: &ProviderId, info: &ProviderInfo) -> Result<()> {
    let data_flow = &info.data_flow;
    if !data_flow.leaves_machine() {
        return Ok(());
    }
    Err(Error::Consent {
        provider: provider.clone(),
        data_flow: data_flow.clone(),
        scopes: data_flow.off_machine_scopes().cloned().collect(),
    })
}
