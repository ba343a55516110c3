//! From a request on the wire to the answer on the wire, for any node manager.
//!
//! Pure.

use super::{Call, NodeManager, NodeManagerError, Request};
use crate::message::{NmReply, NmRequest, NmSetting, Status, TEXT_MAX, bounded};

/// Answers a request. The reply's header is empty: its sender fills it in.
pub fn answer(node: &mut dyn NodeManager, call: &Call, request: &NmRequest) -> NmReply {
    let mut reply = NmReply { client: request.header.writer, request: request.request, ..NmReply::default() };
    if let Err(error) = fill(node, call, request, &mut reply) {
        reply.status = error.status().code();
        reply.detail = bounded(&error.detail(), TEXT_MAX).to_owned();
    }
    reply
}

fn fill(
    node: &mut dyn NodeManager,
    call: &Call,
    request: &NmRequest,
    reply: &mut NmReply,
) -> Result<(), NodeManagerError> {
    match Request::read(request)? {
        Request::GetInfo => reply.info.push(node.get_info(call)?),
        Request::GetMetric(select) => {
            let metrics = node.get_metric(call, &select)?;
            reply.samples = metrics.samples;
            reply.absent = metrics.absent;
        }
        Request::GetConf(select) => reply.settings = node.get_current_conf(call, &select)?,
        Request::SetConf(wish) => reply.settings = node.set_conf(call, &wish)?,
        Request::Restore(wish) => reply.settings = node.restore(call, &wish)?,
    }
    let failed = reply.settings.iter().filter(|setting| !setting.is_ok()).count();
    if failed > 0 {
        reply.status = Status::Partial.code();
        reply.detail = format!("{failed} of {} knobs failed, see their status", reply.settings.len());
    }
    Ok(())
}

impl NmSetting {
    /// Whether the knob did what was asked, or what its clamp says.
    pub const fn is_ok(&self) -> bool {
        self.status == Status::Ok.code()
    }
}
