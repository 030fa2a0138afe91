//! Which entries a tick of one queue in memory promotes.

use vestibule_domain::{id::EntryId, lane::lane_top, lane_turns::LaneCandidates, score::WaitScore};

use super::{presence::lane_bottom, queue::Queue};

/// Entries with their places, in order.
pub(super) type Places = Vec<(WaitScore, EntryId)>;

impl Queue {
    /// Takes at most `limit` entries out of the line: present ones, or the first ones while presence is
    /// off. The lanes have their turns by [`LaneTurns`](vestibule_domain::lane_turns::LaneTurns). If all
    /// lanes are exhausted, goes past those who were called long enough ago and are absent.
    pub(super) fn choose_entries(&mut self, limit: u64) -> Places {
        let lanes: Vec<u8> = self.lanes.keys().copied().collect();
        let judged: Vec<_> = lanes.iter().map(|lane| (*lane, self.judged(*lane))).collect();
        let found: Vec<(u8, Places)> = judged
            .iter()
            .map(|(lane, judged)| (*lane, self.find_candidates(*lane, *judged, limit)))
            .collect();
        let candidates: Vec<_> = found
            .iter()
            .filter_map(|(lane, entries)| {
                Some(LaneCandidates {
                    lane: *lane,
                    first_place: entries.first()?.0.raw(),
                    count: entries.len() as u64,
                })
            })
            .collect();
        let share = u64::from(self.settings().lane_share);
        let counts = if self.has_lanes {
            self.lane_turns.divide(&candidates, share, limit)
        } else {
            candidates
                .iter()
                .map(|found| (found.lane, found.count.min(limit)))
                .collect()
        };
        let mut chosen = Places::new();
        for (lane, mut head) in found {
            let count = counts.get(&lane).copied().unwrap_or(0);
            head.truncate(usize::try_from(count).unwrap_or(usize::MAX));
            self.take_entries(lane, &head);
            chosen.extend(head);
        }
        if self.presence.is_some() && (chosen.len() as u64) < limit {
            for (lane, judged) in judged {
                if judged > self.lane(lane).passed_through {
                    self.pass_through(lane, judged, &[]);
                }
            }
        }
        chosen
    }

    /// Takes these entries from the head of a lane out of the line.
    fn take_entries(&mut self, lane: u8, head: &[(WaitScore, EntryId)]) {
        let Some((last, _)) = head.last() else {
            return;
        };
        if self.presence.is_some() {
            self.pass_through(lane, last.raw(), head);
        } else {
            let progress = self.lane_mut(lane);
            progress.gone_ahead += (head.len() as u64).cast_signed();
            progress.passed_through = progress.passed_through.max(last.raw());
        }
        for (place, id) in head {
            self.waiting.remove(*id);
            if let Some(presence) = &mut self.presence {
                presence.remove(*place, *id);
            }
        }
    }

    /// Finds at most `limit` entries at the head of a lane that may be promoted: none behind the first
    /// place whose visitor was called lately and has not checked in.
    fn find_candidates(&self, lane: u8, judged: u64, limit: u64) -> Places {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let Some(presence) = &self.presence else {
            let own = self.waiting.iter_above(lane_bottom(lane).saturating_sub(1));
            let own = own.take_while(|(place, _)| place.raw() <= lane_top(lane));
            return own.take(limit).collect();
        };
        let own = presence
            .present
            .iter()
            .skip_while(|(place, _)| place.lane() < lane)
            .take_while(|(place, _)| place.lane() == lane)
            .take(limit);
        let mut head: Places = own.map(|(place, id)| (*place, *id)).collect();
        let from = judged.max(self.lane(lane).passed_through);
        let first = head.partition_point(|(place, _)| place.raw() <= from);
        // From here on every waiting entry has to be present.
        let in_turn = self.waiting.iter_above(from).zip(&head[first..]);
        let in_turn = in_turn
            .take_while(|(waiting, present)| waiting == *present)
            .count();
        head.truncate(first + in_turn);
        head
    }

    /// Counts that the head of a lane goes to `through`, before the `promoted` entries are removed
    /// from the line.
    fn pass_through(&mut self, lane: u8, through: u64, promoted: &[(WaitScore, EntryId)]) {
        let passed_through = self.lane(lane).passed_through;
        let through = through.max(passed_through);
        let behind = promoted.partition_point(|(place, _)| place.raw() <= passed_through) as u64;
        let went_by = self.waiting.count_between(passed_through, through);
        let progress = self.lane_mut(lane);
        progress.gone_ahead += (went_by + behind).cast_signed();
        progress.absent += went_by - (promoted.len() as u64 - behind);
        progress.passed_through = through;
    }
}
