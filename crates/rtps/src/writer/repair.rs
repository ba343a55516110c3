//! What a writer does with acknowledgements: it notes them, and repairs what they name as missing.

use alloc::vec::Vec;

use super::Writer;
use super::outgoing::{Audience, Batch, Outgoing, gaps};
use super::proxy::ReaderProxy;
use crate::discovery::restart::OVERTAKEN_MAX;
use crate::message::{AckNack, HeartbeatFrag, NackFrag, is_newer};
use crate::outbox::Context;
use crate::{FragmentNumber, Guid, SequenceNumber, SequenceNumberSet};
use units::Instant;

/// What sending something again costs of a reader's credit besides its bytes.
const REPAIR_OVERHEAD: usize = 128;

impl Writer {
    /// Handles an acknowledgement. `None` when it is not from a matched reliable reader, else whether room may have
    /// become free.
    pub(crate) fn handle_acknack(
        &mut self,
        cx: &mut Context<'_>,
        from: Guid,
        acknack: &AckNack,
    ) -> Option<bool> {
        let sent = self.out.sent;
        let proxy = self.readers.get_mut(from).filter(|proxy| proxy.reliable)?;
        if !is_newer(acknack.count, proxy.acknack_count) {
            return Some(false);
        }
        proxy.acknack_count = Some(acknack.count);
        proxy.acknack_at = cx.now;
        let base = acknack.missing.base();
        let is_bare = acknack.missing.bit_count() == 0;
        // Base zero is a reader's first call, whatever its flag says. Answering a final one that merely has nothing yet
        // would be answered in turn.
        let is_first_call = base == SequenceNumber::ZERO;
        let is_question = !acknack.is_final && base <= sent.max(SequenceNumber::FIRST);
        let may_answer = is_bare && (is_first_call || is_question) && proxy.may_answer(cx);
        let progress = self.readers.note_acknowledged(from, base.previous().min(sent));
        if may_answer {
            self.send_state(cx, from);
        } else if !acknack.missing.is_empty() {
            self.repair(cx, from, acknack.missing);
        }
        if progress {
            self.out.restart_timer(cx);
        }
        self.after_acknowledgement();
        self.send_waiting(cx);
        Some(progress)
    }

    /// Whether an acknowledgement shows that its reader has begun anew: see [`crate::discovery::restart`].
    pub(crate) fn is_anew(&self, now: Instant, from: Guid, acknack: &AckNack) -> bool {
        let proxy = self.readers.get(from).filter(|proxy| proxy.acknack_count.is_some());
        proxy.is_some_and(|proxy| {
            !is_newer(acknack.count, proxy.acknack_count) && now >= proxy.acknack_at + OVERTAKEN_MAX
        })
    }

    /// Sends again what a reader asks for, or says that it does not exist any more.
    fn repair(&mut self, cx: &mut Context<'_>, guid: Guid, missing: SequenceNumberSet) {
        self.history.expire(cx.now);
        let Some(proxy) = self.readers.get_mut(guid) else { return };
        // Every answer has its price, but the first sample of a period is always sent: otherwise a credit below the
        // price of a sample would repair nothing, ever.
        if !proxy.afford(cx, 0) {
            return;
        }
        let to = proxy.address.direct();
        let audience = proxy.audience(self.entity, &to);
        let (mut gone, mut batch, mut sent_any) = (Vec::new(), Batch::new(audience), false);
        for sequence in missing.iter().take_while(|sequence| *sequence <= self.out.sent) {
            let change = if sequence < proxy.start { None } else { self.history.get(sequence) };
            let Some(change) = change.map(Outgoing::from) else {
                gone.push(sequence);
                continue;
            };
            if Batch::fits(&change, cx) {
                if !proxy.afford(cx, change.payload.len() + REPAIR_OVERHEAD) {
                    break;
                }
                batch.add(cx, &change);
            } else {
                batch.flush(cx);
                if !send_affordable(cx, proxy, audience, &change) {
                    break;
                }
            }
            cx.statistics.repairs += 1;
            sent_any = true;
        }
        batch.flush(cx);
        let gaps = gaps(audience.entity(), self.entity, &gone);
        proxy.afford(cx, REPAIR_OVERHEAD);
        if sent_any || !gaps.is_empty() {
            let heartbeat = self.out.heartbeat(audience.entity(), true, self.history.first());
            audience.send(cx, |message| {
                gaps.iter().for_each(|gap| message.gap(gap));
                message.heartbeat(&heartbeat);
            });
        }
    }

    /// Sends fragments again. `None` when it is not asked by a matched reliable reader.
    pub(crate) fn handle_nackfrag(
        &mut self,
        cx: &mut Context<'_>,
        from: Guid,
        nack: &NackFrag,
    ) -> Option<()> {
        let proxy = self.readers.get_mut(from).filter(|proxy| proxy.reliable)?;
        if !is_newer(nack.count, proxy.nackfrag_count) {
            return Some(());
        }
        proxy.nackfrag_count = Some(nack.count);
        let change = self.history.get(nack.sequence).map(Outgoing::from);
        let Some(change) = change.filter(|change| change.is_fragmented(cx)) else {
            let mut set = SequenceNumberSet::empty(nack.sequence);
            set.insert(nack.sequence);
            self.repair(cx, from, set);
            return Some(());
        };
        let total = change.total(cx);
        let to = proxy.address.direct();
        let audience = proxy.audience(self.entity, &to);
        let wanted = nack.missing.iter().map(|number| number.0).take_while(|number| *number <= total);
        let mut sent_any = false;
        for number in wanted {
            if !proxy.afford(cx, usize::from(cx.fragment_size) + REPAIR_OVERHEAD) {
                break;
            }
            audience.send_fragment(cx, &change, number);
            sent_any = true;
        }
        if sent_any {
            cx.statistics.repairs += 1;
            let heartbeat = HeartbeatFrag {
                reader: from.entity,
                writer: self.entity,
                sequence: nack.sequence,
                last_fragment: FragmentNumber(total),
                count: self.out.next_count(),
            };
            audience.send(cx, |message| message.heartbeat_frag(&heartbeat));
        }
        Some(())
    }
}

/// Sends a large change again, of a fragmented one as many fragments as the reader's credit allows: it asks for the
/// others by number. False when nothing was sent.
fn send_affordable(
    cx: &mut Context<'_>,
    proxy: &mut ReaderProxy,
    audience: Audience<'_>,
    change: &Outgoing<'_>,
) -> bool {
    if !change.is_fragmented(cx) {
        let may = proxy.afford(cx, change.payload.len() + REPAIR_OVERHEAD);
        if may {
            audience.send_whole(cx, change, |_| {});
        }
        return may;
    }
    let cost = usize::from(cx.fragment_size) + REPAIR_OVERHEAD;
    let affordable = (1..=change.total(cx)).take_while(|_| proxy.afford(cx, cost));
    let numbers: Vec<u32> = affordable.collect();
    numbers.iter().for_each(|number| audience.send_fragment(cx, change, *number));
    !numbers.is_empty()
}
