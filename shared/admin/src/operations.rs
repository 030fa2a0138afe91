//! The declaration of every command of operators: its name, arguments, confirmation, meaning and parser.
//!
//! To add a command, add it here, to `Command` and to `Admin::execute`, and add an event to
//! `infra/events` and to `docs/commands.md`; tests compare these.

use serde_json::{Value, json};
use vestibule_domain::right::Right;

use super::{Problem, command::Command, command_fields::CommandFields, invocation::CALLER_FIELD};

/// The arguments of every command that must be confirmed.
const CONFIRMATION_ARGUMENTS: [&str; 2] = ["confirm", "epoch"];

/// How many sources the command `sources` shows.
const SOURCES_SHOWN: u32 = 20;
const SOURCES_SHOWN_MAX: u32 = 1_000;

/// One command that operators can give.
#[derive(Debug)]
pub struct Operation {
    /// The value of the field `op`.
    pub name: &'static str,
    /// The other fields that the command accepts, apart from those of a confirmation.
    pub arguments: &'static [&'static str],
    /// Whether the command must repeat the queue's id and its epoch.
    pub needs_confirmation: bool,
    /// What the command does.
    pub meaning: &'static str,
    /// Reads the arguments.
    pub(super) parse: fn(&mut CommandFields) -> Result<Command, Problem>,
}

/// All commands.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "create",
        arguments: &["queue", "queues", "settings"],
        needs_confirmation: false,
        meaning: "Creates a queue, or each of up to 1,000, with these settings and the defaults of its prefix.",
        parse: CommandFields::create_order,
    },
    Operation {
        name: "defaults",
        arguments: &["prefix", "settings"],
        needs_confirmation: false,
        meaning: "Shows, or with settings replaces, what new queues get by the prefix of their ids, such as TICKET:*.",
        parse: |fields| Ok(Command::Defaults(fields.defaults_order()?)),
    },
    Operation {
        name: "update",
        arguments: &["queue", "settings", "revision", "confirm", "epoch"],
        needs_confirmation: false,
        meaning: "Changes the given settings and no others. With revision, as describe shows it, the command is refused if \
                  one of them has changed since. A change that closes or finishes the queue, lets all visitors pass or makes \
                  the capacity ten times as large needs confirm and epoch, as close and finish do.",
        parse: |fields| Ok(Command::Update(fields.update_order()?)),
    },
    Operation {
        name: "describe",
        arguments: &["queue", "help"],
        needs_confirmation: false,
        meaning: "Shows a queue's settings; with help, also describes every setting and every command.",
        parse: |fields| Ok(Command::Describe(fields.queue()?, fields.flag("help")?)),
    },
    Operation {
        name: "list",
        arguments: &["prefix", "after"],
        needs_confirmation: false,
        meaning: "Lists the queues, or those whose ids begin with a prefix, up to 10,000 at once; the next ones come with after.",
        parse: |fields| Ok(Command::List(fields.list_order()?)),
    },
    Operation {
        name: "open",
        arguments: &["queue"],
        needs_confirmation: false,
        meaning: "Lets new visitors enter, also after finish; entries that finish has ended stay ended.",
        parse: |fields| Ok(Command::Open(fields.queue()?)),
    },
    Operation {
        name: "pause",
        arguments: &["queue"],
        needs_confirmation: false,
        meaning: "Stops promotion; visitors may still enter.",
        parse: |fields| Ok(Command::Pause(fields.queue()?)),
    },
    Operation {
        name: "resume",
        arguments: &["queue"],
        needs_confirmation: false,
        meaning: "Resumes promotion.",
        parse: |fields| Ok(Command::Resume(fields.queue()?)),
    },
    Operation {
        name: "drain",
        arguments: &["queue"],
        needs_confirmation: true,
        meaning: "Drains the queue: refuses new visitors and promotes those who wait.",
        parse: |fields| Ok(Command::Drain(fields.queue()?)),
    },
    Operation {
        name: "close",
        arguments: &["queue"],
        needs_confirmation: true,
        meaning: "Closes the queue: refuses new visitors and stops promotion.",
        parse: |fields| Ok(Command::Close(fields.queue()?)),
    },
    Operation {
        name: "finish",
        arguments: &["queue", "reason", "message"],
        needs_confirmation: true,
        meaning: "Ends the queue: refuses new visitors and tells every waiting visitor that it is over, sold_out or cancelled, \
                  with a last message. Ready visitors may still claim, and sessions go on.",
        parse: |fields| {
            let (queue, reason) = (fields.queue()?, fields.finish_reason()?);
            Ok(Command::Finish(queue, reason, fields.message()?))
        },
    },
    Operation {
        name: "delete",
        arguments: &["queue"],
        needs_confirmation: true,
        meaning: "Deletes the queue for good: its entries, tokens and passes are void, also in a queue of the same id that \
                  is created later.",
        parse: |fields| Ok(Command::Delete(fields.queue()?, fields.confirmation()?)),
    },
    Operation {
        name: "promote",
        arguments: &["queue", "count", "token", "visitor", "kind", "over_pace"],
        needs_confirmation: false,
        meaning: "Promotes at most this many entries now, or one entry wherever in line it is; with over_pace, that one \
                  beyond the pace, but never beyond the capacity.",
        parse: |fields| Ok(Command::Promote(fields.queue()?, fields.promote_selector()?)),
    },
    Operation {
        name: "lane",
        arguments: &["queue", "token", "visitor", "kind", "lane"],
        needs_confirmation: false,
        meaning: "Moves a waiting entry to a lane, from 0 (served first) to 7. The order of joining stays within the lane.",
        parse: |fields| {
            let (queue, lane) = (fields.queue()?, fields.lane()?);
            Ok(Command::Lane(queue, fields.entry_selector()?, lane))
        },
    },
    Operation {
        name: "evict",
        arguments: &[
            "queue",
            "token",
            "visitor",
            "kind",
            "tokens",
            "source",
            "joined_from_ms",
            "joined_to_ms",
            "all",
        ],
        needs_confirmation: true,
        meaning: "Removes an entry, or all that match; without the confirmation, says how many match.",
        parse: |fields| Ok(Command::Evict(fields.queue()?, fields.evict_selector()?)),
    },
    Operation {
        name: "inspect",
        arguments: &["queue", "token", "visitor", "kind"],
        needs_confirmation: false,
        meaning: "Shows an entry.",
        parse: |fields| Ok(Command::Inspect(fields.queue()?, fields.entry_selector()?)),
    },
    Operation {
        name: "sources",
        arguments: &["queue", "limit"],
        needs_confirmation: false,
        meaning: "Shows from which sources the entries come, those with the most entries first.",
        parse: |fields| {
            let queue = fields.queue()?;
            let limit = fields.integer_in_range("limit", Some(SOURCES_SHOWN), 1..=SOURCES_SHOWN_MAX)?;
            Ok(Command::Sources(queue, limit))
        },
    },
    Operation {
        name: "block",
        arguments: &["queue", "token", "visitor", "kind", "source", "for_seconds"],
        needs_confirmation: false,
        meaning: "Lets a visitor, or all visitors of a source, no longer enter.",
        parse: |fields| {
            let (queue, seconds) = (fields.queue()?, fields.block_seconds()?);
            Ok(Command::Block(queue, fields.block_selector()?, seconds))
        },
    },
    Operation {
        name: "unblock",
        arguments: &["queue", "token", "visitor", "kind", "source"],
        needs_confirmation: false,
        meaning: "Ends a block.",
        parse: |fields| Ok(Command::Unblock(fields.queue()?, fields.block_selector()?)),
    },
    Operation {
        name: "stats",
        arguments: &["queue"],
        needs_confirmation: false,
        meaning: "Shows the statistics of a queue.",
        parse: |fields| Ok(Command::Stats(fields.queue()?)),
    },
    Operation {
        name: "report",
        arguments: &["queue", "format", "generation"],
        needs_confirmation: false,
        meaning: "Shows what happened in a queue: totals, waits, the peak and the orders, as json or csv.",
        parse: |fields| Ok(Command::Report(fields.queue()?, fields.report_order()?)),
    },
    Operation {
        name: "entries",
        arguments: &["queue", "state", "limit", "cursor"],
        needs_confirmation: false,
        meaning: "Shows the entries of a state, or all, page by page.",
        parse: |fields| Ok(Command::Entries(fields.queue()?, fields.entries_order()?)),
    },
    Operation {
        name: "check",
        arguments: &["queue", "from_shard"],
        needs_confirmation: false,
        meaning: "Compares the line with the backup and repairs differences.",
        parse: |fields| Ok(Command::Check(fields.queue()?, fields.take_from_shard()?)),
    },
    Operation {
        name: "plan",
        arguments: &[
            "tps",
            "calls",
            "session_seconds",
            "failure_percent",
            "margin_percent",
            "interval_seconds",
            "target_load",
            "visitors",
            "arrival_seconds",
            "wait_minutes",
            "checks",
            "cache",
            "without_cdn",
        ],
        needs_confirmation: false,
        meaning: "Computes settings for a protected service with this demand, or the load and the cost of a crowd.",
        parse: |fields| Ok(Command::Plan(fields.plan_order()?)),
    },
    Operation {
        name: "preflight",
        arguments: &[],
        needs_confirmation: false,
        meaning: "Asks Redis, the tables and the store of the signing keys whether they give what a sale needs.",
        parse: |_| Ok(Command::Preflight),
    },
    Operation {
        name: "restore",
        arguments: &["queue"],
        needs_confirmation: true,
        meaning: "Restores the line from the backup.",
        parse: |fields| Ok(Command::Restore(fields.queue()?)),
    },
    Operation {
        name: "reset",
        arguments: &["queue"],
        needs_confirmation: true,
        meaning: "Empties the queue by starting a new generation; all earlier tokens and passes become void.",
        parse: |fields| Ok(Command::Reset(fields.queue()?)),
    },
    Operation {
        name: "rotate",
        arguments: &["leaked"],
        needs_confirmation: false,
        meaning: "Replaces the key that signs passes; no pass is refused. With leaked, the new key signs at once, and every \
                  earlier pass is void.",
        parse: |fields| {
            let leaked = fields.flag("leaked")?;
            Ok(Command::Rotate { leaked })
        },
    },
];

impl Operation {
    /// Finds the declaration of a command by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        OPERATIONS.iter().find(|operation| operation.name == name)
    }

    /// Returns the names of all commands as one text.
    pub(super) fn list_names() -> String {
        let names: Vec<_> = OPERATIONS.iter().map(|operation| operation.name).collect();
        names.join(", ")
    }

    /// Whether the command has a field of this name.
    pub fn has_field(&self, name: &str) -> bool {
        name == "op" || name == CALLER_FIELD || self.field_names().contains(&name)
    }

    /// Returns the names of the fields apart from `op`.
    pub(super) fn field_names(&self) -> Vec<&'static str> {
        let mut names = self.arguments.to_vec();
        if self.needs_confirmation {
            names.extend(CONFIRMATION_ARGUMENTS);
        }
        names
    }

    /// Describes the command for the answer of `describe`.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "op": self.name,
            "arguments": self.arguments,
            "needs_confirmation": self.needs_confirmation,
            "right": Right::needed_for(self.name).name(),
            "meaning": self.meaning,
        })
    }
}
