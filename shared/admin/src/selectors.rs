//! Which entries, or which sources, a command concerns.

use vestibule_domain::{
    id::{EntryId, Source, Visitor, VisitorKind},
    record::EntryRecord,
};
use vestibule_line::EVICT_CHUNK;
use vestibule_wire::commands::{EVICT_TOKENS_MAX, EvictOrder, OneOf, PromoteOrder};

use super::problem::Problem;

const _: () = assert!(EVICT_TOKENS_MAX <= EVICT_CHUNK);

/// Selects one entry.
#[derive(Debug)]
pub(super) enum EntrySelector {
    /// By the entry's token.
    Token(EntryId),
    /// By the visitor, from whose id the entry's token is derived. Without a kind, the visitor is a known one, and may also be
    /// the anonymous one of the same id.
    Visitor(Visitor, Option<Visitor>),
}

/// Selects the entries to promote.
#[derive(Debug)]
pub(super) enum PromoteSelector {
    /// At most this many from the heads of the lanes.
    Count(u64),
    /// One entry, wherever in line it is, and whether to go beyond the pace.
    One(EntrySelector, bool),
}

/// Selects the entries to evict.
#[derive(Debug)]
pub(super) enum EvictSelector {
    /// One entry.
    One(EntrySelector),
    /// All entries that match.
    Many(EntryFilter),
}

/// Selects many entries.
#[derive(Debug)]
pub(super) enum EntryFilter {
    /// These entries.
    Listed(Vec<EntryId>),
    /// The entries of a source that joined within a time, in Unix milliseconds, both ends included.
    Joined {
        /// `None` for any source.
        source: Option<Source>,
        from_ms: u64,
        to_ms: u64,
        /// Whether to select also the visitors who have been present, and those who were let in.
        all: bool,
    },
}

impl EntryFilter {
    /// Whether the entries of visitors who have checked in are not selected.
    pub(super) fn spares_checked_in(&self) -> bool {
        matches!(self, Self::Joined { all: false, .. })
    }

    /// Whether the record is of the source and the time.
    pub(super) fn matches(&self, record: &EntryRecord) -> bool {
        match self {
            Self::Listed(tokens) => tokens.contains(&record.id),
            Self::Joined {
                source,
                from_ms,
                to_ms,
                ..
            } => {
                let joined_at_ms = record.joined_at_ms();
                source.is_none_or(|source| record.source == Some(source))
                    && joined_at_ms.is_some_and(|at_ms| (*from_ms..=*to_ms).contains(&at_ms))
            }
        }
    }
}

/// Selects whom to block.
#[derive(Debug)]
pub(super) enum BlockSelector {
    /// One entry.
    Entry(EntrySelector),
    /// All visitors of a source.
    Source(Source),
}

/// The one entry that a command names.
///
/// # Errors
/// The command names none, or names it in two ways.
pub(super) fn select_entry(
    token: Option<EntryId>,
    visitor: Option<&str>,
    kind: Option<OneOf<VisitorKind>>,
) -> Result<EntrySelector, Problem> {
    find_entry(token, visitor, kind)?.ok_or_else(|| {
        Problem::invalid_field(
            "token",
            "is missing; name the entry by its token or by its visitor",
        )
    })
}

fn find_entry(
    token: Option<EntryId>,
    visitor: Option<&str>,
    kind: Option<OneOf<VisitorKind>>,
) -> Result<Option<EntrySelector>, Problem> {
    match (token, visitor) {
        (Some(_), Some(_)) => Err(Problem::invalid_field(
            "visitor",
            "must not be given together with a token; name the entry by one of the two",
        )),
        (_, None) if kind.is_some() => Err(Problem::invalid_field(
            "kind",
            "must be given together with a visitor",
        )),
        (None, None) => Ok(None),
        (Some(token), None) => Ok(Some(EntrySelector::Token(token))),
        (None, Some(id)) => {
            let named = match kind {
                Some(OneOf(VisitorKind::Known)) | None => Visitor::known(id),
                Some(OneOf(VisitorKind::Anon)) => Visitor::anonymous(id),
            };
            let named = named.map_err(|error| Problem::invalid_id("visitor", &error))?;
            let other = kind.map_or_else(|| Visitor::anonymous(id).ok(), |_| None);
            Ok(Some(EntrySelector::Visitor(named, other)))
        }
    }
}

/// Which entries to promote: a number from the heads of the lanes, or one.
///
/// # Errors
/// The command names neither, or both.
pub(super) fn select_promoted(order: &PromoteOrder) -> Result<PromoteSelector, Problem> {
    let one = find_entry(order.token, order.visitor.as_deref(), order.kind)?;
    let over_pace = order.over_pace.unwrap_or_default();
    match (one, order.count) {
        (None, _) if over_pace => Err(Problem::invalid_field(
            "over_pace",
            "must be given together with a token or a visitor; only one entry is promoted beyond the pace",
        )),
        (None, None) => Err(Problem::invalid_field(
            "count",
            "is missing; say how many entries, or name one by its token or by its visitor",
        )),
        (None, Some(count)) => Ok(PromoteSelector::Count(count.get().into())),
        (Some(_), Some(_)) => Err(Problem::invalid_field(
            "count",
            "must not be given together with one entry",
        )),
        (Some(one), None) => Ok(PromoteSelector::One(one, over_pace)),
    }
}

/// Whom to block: one entry, or a source.
///
/// # Errors
/// The command names neither, or both.
pub(super) fn select_blocked(
    token: Option<EntryId>,
    visitor: Option<&str>,
    kind: Option<OneOf<VisitorKind>>,
    source: Option<Source>,
) -> Result<BlockSelector, Problem> {
    match (find_entry(token, visitor, kind)?, source) {
        (Some(entry), None) => Ok(BlockSelector::Entry(entry)),
        (None, Some(source)) => Ok(BlockSelector::Source(source)),
        (None, None) => Err(Problem::invalid_field(
            "source",
            "is missing; name a source, or an entry by its token or by its visitor",
        )),
        (Some(_), Some(_)) => Err(Problem::invalid_field(
            "source",
            "must not be given together with an entry",
        )),
    }
}

/// Which entries to evict: one by its token or visitor, those of a list, or those of a source or of a time.
///
/// # Errors
/// The command names none, or names them in several ways.
pub(super) fn select_evicted(order: &EvictOrder) -> Result<EvictSelector, Problem> {
    let one = find_entry(order.token, order.visitor.as_deref(), order.kind)?;
    let all = order.all.unwrap_or_default();
    let filters = [
        ("source", order.source.is_some()),
        ("joined_from_ms", order.joined_from_ms.is_some()),
        ("joined_to_ms", order.joined_to_ms.is_some()),
    ];
    let filter = filters
        .into_iter()
        .find_map(|(name, is_given)| is_given.then_some(name));
    let conflict = |field: &str, other: &str| {
        let reason = format!("must not be given together with {other}");
        Err(Problem::invalid_field(field, reason))
    };
    match (one, &order.tokens, filter) {
        (Some(_), Some(_), _) => conflict("tokens", "one entry"),
        (Some(_), None, Some(filter)) => conflict(filter, "one entry"),
        (Some(_), None, None) if all => conflict("all", "one entry"),
        (Some(one), None, None) => Ok(EvictSelector::One(one)),
        (None, Some(_), Some(_)) => conflict("tokens", "a source or a time"),
        (None, Some(_), None) if all => conflict("all", "tokens"),
        (None, Some(tokens), None) => Ok(EvictSelector::Many(EntryFilter::Listed(tokens.clone()))),
        (None, None, Some(_)) => Ok(EvictSelector::Many(EntryFilter::Joined {
            source: order.source,
            from_ms: order.joined_from_ms.map_or(0, |from| from.0),
            to_ms: order.joined_to_ms.map_or(u64::MAX, |to| to.0),
            all,
        })),
        (None, None, None) => Err(Problem::invalid_field(
            "token",
            "is missing; name one entry by its token or by its visitor, or many by tokens, source, joined_from_ms \
             or joined_to_ms",
        )),
    }
}
