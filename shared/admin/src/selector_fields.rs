//! The fields of a command that say which entries, or which sources, it concerns.

use serde_json::Value;
use vestibule_domain::id::{EntryId, Source, Visitor, VisitorKind};
use vestibule_line::EVICT_CHUNK;

use super::{
    Problem,
    command::{BlockSelector, EntryFilter, EntrySelector, EvictSelector, PromoteSelector},
    command_fields::CommandFields,
};

impl CommandFields {
    /// Reads which one entry the command concerns.
    pub(super) fn entry_selector(&mut self) -> Result<EntrySelector, Problem> {
        self.optional_entry_selector()?.ok_or_else(|| {
            Problem::invalid_field(
                "token",
                "is missing; name the entry by its token or by its visitor",
            )
        })
    }

    fn optional_entry_selector(&mut self) -> Result<Option<EntrySelector>, Problem> {
        match (self.string("token")?, self.string("visitor")?) {
            (Some(token), None) => match token.parse() {
                Ok(id) => Ok(Some(EntrySelector::Token(id))),
                Err(error) => Err(Problem::invalid_id("token", &error)),
            },
            (None, Some(id)) => {
                let kind = self.kind()?;
                let visitor = match kind {
                    Some(VisitorKind::Known) | None => Visitor::known(&id),
                    Some(VisitorKind::Anon) => Visitor::anonymous(&id),
                };
                let other = match kind {
                    None => Visitor::anonymous(&id).ok(),
                    Some(_) => None,
                };
                visitor
                    .map(|visitor| Some(EntrySelector::Visitor(visitor, other)))
                    .map_err(|error| Problem::invalid_id("visitor", &error))
            }
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(Problem::invalid_field(
                "visitor",
                "must not be given together with a token; name the entry by one of the two",
            )),
        }
    }

    fn kind(&mut self) -> Result<Option<VisitorKind>, Problem> {
        match self.string("kind")?.as_deref() {
            None => Ok(None),
            Some("known") => Ok(Some(VisitorKind::Known)),
            Some("anon") => Ok(Some(VisitorKind::Anon)),
            Some(_) => Err(Problem::invalid_field("kind", "must be known or anon")),
        }
    }

    /// Reads which entries to promote: a number from the heads of the lanes, or one.
    pub(super) fn promote_selector(&mut self) -> Result<PromoteSelector, Problem> {
        let over_pace = self.flag("over_pace")?;
        match self.optional_entry_selector()? {
            None if over_pace => Err(Problem::invalid_field(
                "over_pace",
                "must be given together with a token or a visitor; only one entry is promoted beyond the pace",
            )),
            None => Ok(PromoteSelector::Count(self.count()?)),
            Some(_) if self.number("count")?.is_some() => Err(Problem::invalid_field(
                "count",
                "must not be given together with one entry",
            )),
            Some(one) => Ok(PromoteSelector::One(one, over_pace)),
        }
    }

    /// Reads whom to block: one entry, or a source.
    pub(super) fn block_selector(&mut self) -> Result<BlockSelector, Problem> {
        let source = self.source()?;
        match (self.optional_entry_selector()?, source) {
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

    /// Reads which entries to evict: one by its token or visitor, those of a list, or those of a source or of a time.
    pub(super) fn evict_selector(&mut self) -> Result<EvictSelector, Problem> {
        let (source, tokens) = (self.source()?, self.tokens()?);
        let joined_from_ms = self.number("joined_from_ms")?;
        let joined_to_ms = self.number("joined_to_ms")?;
        let all = self.flag("all")?;
        let one = self.optional_entry_selector()?;
        let is_filtered = source.is_some() || joined_from_ms.is_some() || joined_to_ms.is_some();
        let conflict = |field: &str, other: &str| {
            Err(Problem::invalid_field(
                field,
                format!("must not be given together with {other}"),
            ))
        };
        match (one, tokens) {
            (Some(_), Some(_)) => conflict("tokens", "one entry"),
            (Some(_), None) if is_filtered => {
                conflict("source, joined_from_ms and joined_to_ms", "one entry")
            }
            (Some(_), None) if all => conflict("all", "one entry"),
            (Some(one), None) => Ok(EvictSelector::One(one)),
            (None, Some(_)) if is_filtered => conflict("tokens", "a source or a time"),
            (None, Some(tokens)) => Ok(EvictSelector::Many(EntryFilter::Listed(tokens))),
            (None, None) if is_filtered => Ok(EvictSelector::Many(EntryFilter::Joined {
                source,
                from_ms: joined_from_ms.unwrap_or(0),
                to_ms: joined_to_ms.unwrap_or(u64::MAX),
                all,
            })),
            (None, None) => Err(Problem::invalid_field(
                "token",
                "is missing; name one entry by its token or by its visitor, or many by tokens, source, joined_from_ms \
                 or joined_to_ms",
            )),
        }
    }

    fn source(&mut self) -> Result<Option<Source>, Problem> {
        let text = self.string("source")?;
        text.map(|text| text.parse())
            .transpose()
            .map_err(|error| Problem::invalid_id("source", &error))
    }

    fn tokens(&mut self) -> Result<Option<Vec<EntryId>>, Problem> {
        let values = match self.take("tokens") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(values)) if (1..=EVICT_CHUNK).contains(&values.len()) => values,
            Some(_) => {
                let reason = format!("must be a list of 1 to {EVICT_CHUNK} entry tokens");
                return Err(Problem::invalid_field("tokens", reason));
            }
        };
        let tokens = values
            .iter()
            .map(|value| value.as_str().unwrap_or_default().parse());
        let mut tokens: Vec<EntryId> = tokens
            .collect::<Result<_, _>>()
            .map_err(|error| Problem::invalid_id("tokens", &error))?;
        tokens.sort_unstable();
        tokens.dedup();
        Ok(Some(tokens))
    }
}
