// The results of operators' commands. infra/openapi.sh render makes this file of docs/commands.json.

export interface components {
    schemas: {
        /** @description The result of `create` with one queue. */
        readonly CreatedQueue: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description True if the command made the queue, false if it existed with the same settings. */
            readonly created: boolean;
            /** @description The prefix whose defaults are among the settings. Null if no prefix has defaults for the queue. */
            readonly defaults: string | null;
            /** @description The settings in force. */
            readonly settings: {
                readonly [key: string]: unknown;
            };
            /** @description Identifies the settings: an `update` with it is refused if one of them has changed since. */
            readonly revision: string;
            /** @description The epoch of the queue, which confirms commands. */
            readonly epoch: number;
            /** @description The generation of the queue: 1, or the next one after a deletion. */
            readonly generation: number;
        };
        /** @description The result of `create` with a list of queues. */
        readonly CreatedQueues: {
            /** @description One row for each id, in the order of the command. An id that was given twice has one row. */
            readonly queues: readonly components["schemas"]["CreationRow"][];
            /** @description How many queues the command made. */
            readonly created: number;
            /** @description How many queues existed with the same settings. */
            readonly existing: number;
            /** @description How many queues could not be created. The same command again completes it. */
            readonly failed: number;
        };
        /** @description What became of one queue of a `create`. It has `problem`, or the members of a queue that exists. */
        readonly CreationRow: {
            /** @description The id as the command gave it, which need not be a text. */
            readonly queue: unknown;
            /** @description True if the command made the queue, false if it existed with the same settings. */
            readonly created?: boolean;
            /** @description The prefix whose defaults are among the settings. Null if no prefix has defaults for the queue. */
            readonly defaults?: string | null;
            /** @description Identifies the settings: an `update` with it is refused if one of them has changed since. */
            readonly revision?: string;
            /** @description Why the queue was not created, as problem details: `code`, `detail`, `field` and so on. Absent if it exists now. */
            readonly problem?: {
                readonly [key: string]: unknown;
            };
        };
        /** @description The result of `defaults` with a prefix, and a row of the result without one. */
        readonly PrefixDefaults: {
            /** @description The beginning of the ids and a `*`. */
            readonly prefix: string;
            /** @description The settings that a new queue of the prefix gets, as they are stored. Null if there are none. */
            readonly settings: {
                readonly [key: string]: unknown;
            } | null;
            /** @description Whether the command replaced earlier defaults. Absent if it replaces none. */
            readonly replaced?: boolean;
            /** @description Whether there were defaults to remove. Absent if the command does not remove them. */
            readonly removed?: boolean;
            /** @description Why a `create` of the prefix is refused, or why the item is ignored. Absent if the defaults are valid. */
            readonly problem?: string;
        };
        /** @description The result of `defaults` without a prefix. */
        readonly AllDefaults: {
            /** @description The defaults of each prefix, in the order of the prefixes. */
            readonly defaults: readonly components["schemas"]["PrefixDefaults"][];
        };
        /** @description The result of a command that changes settings: `update`, `pause`, `resume`, `open`, `drain`, `close` and `finish`. */
        readonly SettingsChange: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description Whether the settings in force changed. */
            readonly changed: boolean;
            /** @description True if a later change replaced the settings before they came into force. */
            readonly superseded: boolean;
            /** @description Whether the backup has the change. While it is unavailable, a switch is in force in the line alone, and the promoter stores it later. */
            readonly stored: boolean;
            /** @description The settings after the change. */
            readonly settings: {
                readonly [key: string]: unknown;
            };
            /** @description The settings that the command changed, as they were. An `update` with them and with `revision` sets the command back. Absent if `stored` is false. */
            readonly settings_before?: {
                readonly [key: string]: unknown;
            };
            /** @description Identifies the settings: an `update` with it is refused if one of them has changed since. */
            readonly revision: string;
            /** @description What is wrong with another stored setting. The switch is in force all the same. Absent if all are valid. */
            readonly stored_settings_problem?: string;
            /** @description The fields of the command that were not carried out, because `stored` is false: `message`. Otherwise absent. */
            readonly left_out?: readonly string[];
        };
        /** @description The result of `describe`. What only the line knows is null if the line does not have the queue. */
        readonly QueueDescription: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description The settings in force. */
            readonly settings: {
                readonly [key: string]: unknown;
            } | null;
            /** @description Identifies the settings in force: an `update` with it is refused if one of them has changed since. */
            readonly revision: string | null;
            /** @description What the queue does. */
            readonly state: components["schemas"]["QueueState"] | null;
            /** @description When the queue opened, in Unix milliseconds. Null if it has not, or no visitor has come yet. */
            readonly opened_at_ms: number | null;
            /** @description How the clocks of the line's server and of the admin function compare. */
            readonly clock: components["schemas"]["ClockDifference"] | null;
            /** @description The settings in the table, valid or not. They differ from those in force for some seconds after an edit, and for as long as they are invalid. */
            readonly stored_settings: unknown;
            /** @description What is wrong with the stored settings. Null if they are valid. */
            readonly stored_settings_problem: string | null;
            /** @description The epoch of the queue, which confirms commands. */
            readonly epoch: number;
            /** @description The generation of the queue. Each reset raises it. */
            readonly generation: number;
            /** @description Passes with a lower epoch are void. */
            readonly min_epoch: number;
            /** @description Which build answers. */
            readonly build: components["schemas"]["Build"];
            /** @description Every setting that exists. Absent without `help`. */
            readonly fields?: readonly components["schemas"]["SettingHelp"][];
            /** @description Every command. Absent without `help`. */
            readonly commands?: readonly components["schemas"]["CommandHelp"][];
        };
        /**
         * @description What a queue does. `scheduled`: The queue has not opened yet: visitors may enter, and no entry is promoted before `opens_at_ms`. `open`: Visitors may enter, and entries are promoted. `paused`: Visitors may enter, and no entry is promoted. `draining`: No new visitor may enter, and entries are promoted. `closed`: No new visitor may enter, and no entry is promoted. `finished`: The queue is over for all who wait, and no visitor may enter. A visitor whose turn has come may still claim, and sessions go on.
         * @enum {string}
         */
        readonly QueueState: "scheduled" | "open" | "paused" | "draining" | "closed" | "finished";
        /** @description The difference between the server's clock and the clock of a caller. */
        readonly ClockDifference: {
            /** @description Whether the two clocks, or the last line time and both of them, differ by more than 5 s. The line then promotes and drops no entry. */
            readonly apart: boolean;
            /** @description How far the server's clock with its offset is ahead of the caller's, in milliseconds; negative if it is behind. */
            readonly ahead_ms: number;
            /** @description The offset that is added to the server's clock, in milliseconds. */
            readonly offset_ms: number;
        };
        /** @description A build of Vestibule. */
        readonly Build: {
            /** @description The version. */
            readonly version: string;
            /** @description The commit. Null if the release did not say it. */
            readonly commit: string | null;
        };
        /** @description What a setting is. */
        readonly SettingHelp: {
            /** @description The name of the setting. */
            readonly name: string;
            /** @description The unit of its value. */
            readonly unit: string;
            /** @description Which values it takes: from `min` to `max`, one of `words`, a `time`, an `address`, or up to a number of characters, languages, keys or blocks. */
            readonly takes: {
                readonly [key: string]: unknown;
            };
            /** @description Its value if it is not set. Empty if that is no value. */
            readonly default: string;
            /** @description What it does. */
            readonly meaning: string;
        };
        /** @description What a command is. */
        readonly CommandHelp: {
            /** @description The value of `op`. */
            readonly op: string;
            /** @description The names of the other fields, without those of a confirmation. */
            readonly arguments: readonly string[];
            /** @description Whether the command must repeat the queue's id and its epoch. */
            readonly needs_confirmation: boolean;
            /** @description The least right for the command: `look`, `operate` or `end`. */
            readonly right: string;
            /** @description What it does. */
            readonly meaning: string;
        };
        /** @description The result of `list`. */
        readonly QueueList: {
            /** @description The queues, in the order of their ids. */
            readonly queues: readonly components["schemas"]["QueueRow"][];
            /** @description The `after` of the command that lists the next queues. Null if there are no more. */
            readonly after: string | null;
        };
        /** @description One queue of a list. It has `problem`, or the numbers of a queue that answers. */
        readonly QueueRow: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description Line time, in Unix milliseconds. */
            readonly now_ms?: number;
            /** @description What the queue does. */
            readonly state?: components["schemas"]["QueueState"];
            /** @description Whether visitors line up. */
            readonly mode?: components["schemas"]["Mode"];
            /** @description Whether an operator has paused the promotion. */
            readonly paused?: boolean;
            /** @description How many entries wait, absent ones not counted. */
            readonly waiting?: number;
            /** @description How many waiting entries are called to check in, absent ones not counted. */
            readonly called?: number;
            /** @description How many waiting entries have a visitor who is present. */
            readonly present?: number;
            /** @description How many waiting entries were passed over, because the visitor had not checked in. They keep their places. */
            readonly absent?: number;
            /** @description How many entries are promoted and not yet claimed. */
            readonly ready?: number;
            /** @description How many entries are let in. */
            readonly active?: number;
            /** @description How many slots are held for visitors who left or were evicted, as long as a pass of theirs can still be shown. */
            readonly held?: number;
            /** @description How many slots there are for ready, active and held entries. */
            readonly capacity?: number;
            /** @description How many entries are promoted per interval by the pace in force, which an adaptive queue moves. */
            readonly batch?: number;
            /** @description The length of an interval, in seconds. */
            readonly interval_seconds?: number;
            /** @description The expected wait of the last in line. Null if none waits, or if no estimate is possible. */
            readonly estimated_wait_seconds?: components["schemas"]["WaitEstimate"] | null;
            /** @description How many visits were completed since the line created or restored the queue. */
            readonly completed?: number;
            /**
             * @description Who may enter now.
             * @enum {string}
             */
            readonly entrance?: "open" | "draining" | "closed" | "finished";
            /** @description True while the clocks of the line's server and of the admin function differ too much, so that no entry is promoted. */
            readonly clocks_apart?: boolean;
            /** @description Why the queue has no numbers. Absent if it has. */
            readonly problem?: string;
        };
        /**
         * @description Whether visitors line up. `queue`: They do, and are promoted at the pace of the queue, up to its capacity. `passthrough`: They do not: every visitor is let in at once, whatever the pace and the capacity.
         * @enum {string}
         */
        readonly Mode: "queue" | "passthrough";
        /** @description An expected wait, as a range: people accept one that turns out to be true, and believe no number that is exact to the second. */
        readonly WaitEstimate: {
            /** @description The lower end, in seconds. */
            readonly low: number;
            /** @description The upper end, in seconds. */
            readonly high: number;
        };
        /** @description The result of `delete`. */
        readonly DeletedQueue: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description True if this command deleted the queue, false if it completed an earlier deletion. */
            readonly deleted: boolean;
            /** @description The last generation of the queue. */
            readonly generation: number;
            /** @description Passes with a lower epoch are void, which are all of the queue. */
            readonly min_epoch: number;
            /** @description When the queue was deleted, in Unix milliseconds. */
            readonly deleted_at_ms: number;
            /** @description Until when the tombstone is kept, in Unix milliseconds. */
            readonly tombstone_until_ms: number;
        };
        /** @description The result of `promote` with a count. */
        readonly Promotion: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description How many entries the command asked for. */
            readonly requested: number;
            /** @description How many entries were promoted. */
            readonly promoted: number;
            /** @description Why no more entries were promoted. */
            readonly limited_by: components["schemas"]["LimitedBy"];
            /** @description How many entries wait now, also the absent ones. */
            readonly waiting: number;
            /** @description How many entries are promoted and not yet claimed. */
            readonly ready: number;
            /** @description How many entries are let in. */
            readonly active: number;
            /** @description Whether the backup has the changes. If not, the promoter writes them when it can. */
            readonly durable: boolean;
        };
        /**
         * @description What limited the number of entries that a promotion moved. `line`: No more entries are waiting. `presence`: All who could be promoted were. The next in line were called lately and have not checked in. `capacity`: Ready and active entries fill the capacity. `pace`: The pace bucket has no token left. `requested`: The caller asked for no more entries, or one call does not move more. `service`: The protected service is not healthy, or has not reported its load for too long. `switch`: The queue is paused, closed or finished, or has not opened yet. `journal`: The journal is full because the backup is far behind. `clock`: The server's clock and the caller's differ too much to be trusted.
         * @enum {string}
         */
        readonly LimitedBy: "line" | "presence" | "capacity" | "pace" | "requested" | "service" | "switch" | "journal" | "clock";
        /** @description The result of `promote` with one entry. */
        readonly EntryPromotion: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description The token of the entry, a UUID. */
            readonly token: string;
            /** @description One. */
            readonly promoted: number;
            /** @description Whether the entry was promoted beyond the pace. */
            readonly over_pace: boolean;
            /** @description The number of the visit. */
            readonly visit: number;
            /** @description The deadline of the claim, in Unix milliseconds. */
            readonly claim_by_ms: number | null;
            /** @description Whether the backup has the change. If not, the promoter writes it when it can. */
            readonly durable: boolean;
        };
        /** @description The result of `lane`. */
        readonly LaneMove: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description The token of the entry, a UUID. */
            readonly token: string;
            /** @description The lane of the entry now, from 0 (served first) to 7. */
            readonly lane: number;
            /** @description The lane that the entry had. */
            readonly from_lane: number;
            /** @description The position in the lane, 1 at the head. Null if the entry does not wait any more. */
            readonly position: number | null;
            /** @description The number of the visit. */
            readonly visit: number;
            /** @description Whether the backup has the change. If not, the promoter writes it when it can. */
            readonly durable: boolean;
        };
        /** @description The result of `evict` with one entry. */
        readonly Eviction: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description The token of the entry, a UUID. */
            readonly token: string;
            /** @description The state of the entry now. */
            readonly state: components["schemas"]["EntryState"];
            /** @description The number of the visit. */
            readonly visit: number;
            /** @description Whether the backup has the change. If not, the promoter writes it when it can. */
            readonly durable: boolean;
        };
        /**
         * @description The state of an entry. It is written in lower case in JSON (`waiting`) and in upper case in the table (`WAITING`). `waiting`: The entry is in line. `ready`: The entry was promoted and must be claimed within `claim_seconds`. `active`: The visitor was admitted, until the session runs out. `completed`: The visit was completed. The entry has ended. `left`: The visitor left. The entry has ended. `expired`: The turn or the session ran out. The entry has ended. `evicted`: An operator removed the entry. The entry has ended. `dismissed`: The queue was finished while the visitor waited. The entry has ended.
         * @enum {string}
         */
        readonly EntryState: "waiting" | "ready" | "active" | "completed" | "left" | "expired" | "evicted" | "dismissed";
        /** @description The result of `evict` with many entries. */
        readonly Evictions: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description How many entries were evicted. */
            readonly evicted: number;
            /** @description How many matching entries are left. The same command again evicts them. */
            readonly remaining: number;
            /** @description How many entries of the source or the time stay: their visitors were present or let in, or came a moment ago. */
            readonly spared: number;
            /** @description True if all matching entries were evicted. */
            readonly complete: boolean;
            /** @description Whether the backup has the changes. If not, the promoter writes them when it can. */
            readonly durable: boolean;
        };
        /** @description The result of `inspect`. */
        readonly InspectedEntry: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description The token of the entry, a UUID. */
            readonly token: string;
            /**
             * @description How the visitor is identified: `known` by an authorizer, a ticket or a trusted caller, or `anon` by a random id.
             * @enum {string}
             */
            readonly kind: "known" | "anon";
            /** @description Where the entry is in the line. Null if the line does not know it. */
            readonly place: components["schemas"]["Place"] | null;
            /** @description The block that keeps the visitor out. Null if there is none. */
            readonly blocked: components["schemas"]["BlockInForce"] | null;
            /** @description The keys of the record's item in the table of the entries, by which an operator deletes it. Null without a record. */
            readonly item: components["schemas"]["RecordKeys"] | null;
            /** @description What the backup has of the entry. Null if it has nothing. */
            readonly record: components["schemas"]["RecordedVisit"] | null;
        };
        /** @description Where an entry is in the line. A member that does not apply is absent. */
        readonly Place: {
            /** @description The state of the entry. */
            readonly state?: components["schemas"]["EntryState"];
            /** @description The number of the visit. */
            readonly visit?: number;
            /** @description For a waiting entry: the position in the lane, 1 at the head, which the visitor is told. */
            readonly position?: number;
            /** @description For a waiting entry: the position in the whole line, which counts earlier lanes and absent entries, too. */
            readonly rank_in_line?: number;
            /** @description For a waiting entry: the number by which the line orders it. */
            readonly score?: number;
            /** @description For a waiting entry: the lane, from 0 (served first) to 7. */
            readonly lane?: number;
            /** @description For a waiting entry: when the visitor entered, in Unix milliseconds. */
            readonly joined_at_ms?: number;
            /** @description For a ready entry: the deadline of the claim, in Unix milliseconds. */
            readonly claim_by_ms?: number;
            /** @description For an active entry: when the session ends, in Unix milliseconds. */
            readonly expires_at_ms?: number;
            /** @description For an entry that has ended, and that the line still remembers: when it ended, in Unix milliseconds. */
            readonly ended_at_ms?: number;
            /** @description For an entry that has ended: whether the backup has the end. */
            readonly in_backup?: boolean;
            /** @description Why the place is not known: the line does not have the queue. */
            readonly problem?: string;
        };
        /** @description A block that keeps a visitor out, and who gave it. */
        readonly BlockInForce: {
            /** @description The source that is blocked. Null if the visitor is. */
            readonly source: string | null;
            /** @description When the block ends, in Unix milliseconds. Null if only `unblock` ends it. */
            readonly until_ms: number | null;
            /** @description Who gave the command `block`. Null if it did not say, or if the log of orders does not have it any more. */
            readonly by: string | null;
            /** @description When the command was given, in Unix milliseconds. Null if the log of orders does not have it any more. */
            readonly at_ms: number | null;
        };
        /** @description The keys of an item in the table of the entries. */
        readonly RecordKeys: {
            /** @description The partition key. */
            readonly shard: string;
            /** @description The sort key. */
            readonly entry: string;
        };
        /** @description What the backup has of an entry. */
        readonly RecordedVisit: {
            /** @description The state of the entry. */
            readonly state: components["schemas"]["EntryState"];
            /** @description The step of the visit: 0 waiting, 1 ready, 2 waiting again after a missed turn, 3 ready again, 4 active, 5 a slot is held, 6 ended. */
            readonly step: number;
            /** @description The time of the step, in Unix milliseconds: of the last move to another lane, the deadline of the claim, the end of the session, or when the held slot becomes free. 0 if the step has none. */
            readonly step_ms: number;
            /** @description Whether the time of the step ran out. */
            readonly is_over: boolean;
            /** @description The number of the visit. */
            readonly visit: number;
            /** @description The number by which the line orders or ordered the entry. Null if the change with the place never arrived. */
            readonly score: number | null;
            /** @description The version of the last change that the record contains. */
            readonly version: components["schemas"]["RecordVersion"];
            /** @description When the visitor entered, in Unix milliseconds. Null if the change with the place never arrived. */
            readonly joined_at_ms: number | null;
            /** @description When the entry was promoted, in Unix milliseconds. Null if it was not. */
            readonly promoted_at_ms: number | null;
            /** @description When the visitor was let in, in Unix milliseconds. Null if that did not happen. */
            readonly claimed_at_ms: number | null;
            /** @description The last deadline, in Unix milliseconds: of the claim, or the end of the session. Null if there was none. */
            readonly expires_at_ms: number | null;
            /** @description When the visit ended, in Unix milliseconds. Null if it goes on, and if its time ran out. */
            readonly ended_at_ms: number | null;
            /** @description Where the visitor entered from. Null if that is not known. */
            readonly source: string | null;
            /** @description The id under which the protected service consumed the visit. Null if it did not. */
            readonly use_id: string | null;
            /** @description Whether the visit ended because the wait was longer than `waiting_seconds_max`. */
            readonly is_overlong_wait: boolean;
            /** @description When the record may be deleted, in Unix milliseconds. */
            readonly delete_at_ms: number;
        };
        /** @description The version of a change: the order of all changes of a queue. */
        readonly RecordVersion: {
            /** @description The epoch of the queue. */
            readonly epoch: number;
            /** @description Rises with each change of the queue within an epoch. */
            readonly v: number;
        };
        /** @description The result of `sources`. */
        readonly SourceList: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description The sources with the most live entries, the largest first. */
            readonly sources: readonly components["schemas"]["SourceRow"][];
            /** @description How many sources were found. */
            readonly sources_found: number;
            /** @description How many records were read. */
            readonly entries_read: number;
            /** @description How many shards were read. If they are not all, the counts are estimates from this sample. */
            readonly sampled_shards: number;
            /** @description How many shards there are. */
            readonly shards: number;
            /** @description The entries of all sources beyond the first 100,000. Null if there are no more. */
            readonly others: components["schemas"]["SourceCounts"] | null;
        };
        /** @description The entries of one source. */
        readonly SourceRow: {
            /** @description The source: a hash of an address, or of a network of IPv6. Null for entries whose source is not known. */
            readonly source: string | null;
            /** @description Whether the source is blocked. */
            readonly blocked: boolean;
            /** @description All live entries. */
            readonly entries: number;
            /** @description Waiting entries whose visitors checked in lately, or all if presence is off. */
            readonly present: number;
            /** @description Waiting entries that were passed over, because the visitor had not checked in. */
            readonly absent: number;
            /** @description Waiting entries that are called, and whose visitors are not present. */
            readonly called: number;
            /** @description Waiting entries that are not called yet. */
            readonly not_called: number;
            /** @description Entries that are promoted and not yet claimed. */
            readonly ready: number;
            /** @description Entries that are let in. */
            readonly active: number;
            /** @description Live entries that wait, and whose visitors have never checked in. */
            readonly never_present: number;
            /** @description Entries that were let in, whether they have ended or not. */
            readonly claimed: number;
            /** @description Entries that have ended. */
            readonly ended: number;
            /** @description When the first of the visitors entered, in Unix milliseconds. Null if that is not known. */
            readonly first_joined_at_ms: number | null;
            /** @description When the last of the visitors entered, in Unix milliseconds. Null if that is not known. */
            readonly last_joined_at_ms: number | null;
        };
        /** @description How many entries there are of one source, or of several. `entries` counts the live ones. */
        readonly SourceCounts: {
            /** @description All live entries. */
            readonly entries: number;
            /** @description Waiting entries whose visitors checked in lately, or all if presence is off. */
            readonly present: number;
            /** @description Waiting entries that were passed over, because the visitor had not checked in. */
            readonly absent: number;
            /** @description Waiting entries that are called, and whose visitors are not present. */
            readonly called: number;
            /** @description Waiting entries that are not called yet. */
            readonly not_called: number;
            /** @description Entries that are promoted and not yet claimed. */
            readonly ready: number;
            /** @description Entries that are let in. */
            readonly active: number;
            /** @description Live entries that wait, and whose visitors have never checked in. */
            readonly never_present: number;
            /** @description Entries that were let in, whether they have ended or not. */
            readonly claimed: number;
            /** @description Entries that have ended. */
            readonly ended: number;
            /** @description When the first of the visitors entered, in Unix milliseconds. Null if that is not known. */
            readonly first_joined_at_ms: number | null;
            /** @description When the last of the visitors entered, in Unix milliseconds. Null if that is not known. */
            readonly last_joined_at_ms: number | null;
        };
        /** @description The result of `block` and `unblock`. */
        readonly BlockChange: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description The entry token of the visitor. Null if the command named a source. */
            readonly token: string | null;
            /** @description Whether the blocks in force changed. */
            readonly changed: boolean;
            /** @description True if a later change replaced the blocks before they came into force. */
            readonly superseded: boolean;
            /** @description The blocks of the queue: each has a `token` or a `source`, and `until_ms`, which is null for a block without an end. */
            readonly blocked: readonly {
                /** @description The entry token of a visitor. Absent in the block of a source. */
                readonly token?: string;
                /** @description The source. Absent in the block of a visitor. */
                readonly source?: string;
                /** @description When the block ends, in Unix milliseconds. Absent if only `unblock` ends it. */
                readonly until_ms?: number;
            }[];
        };
        /** @description The result of `stats`. */
        readonly QueueStats: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description Line time, in Unix milliseconds. */
            readonly now_ms: number;
            /** @description What the queue does. */
            readonly state: components["schemas"]["QueueState"];
            /** @description Whether visitors line up. */
            readonly mode: components["schemas"]["Mode"];
            /** @description Whether an operator has paused the promotion. */
            readonly paused: boolean;
            /** @description How many entries wait, absent ones not counted. */
            readonly waiting: number;
            /** @description How many waiting entries are called to check in, absent ones not counted. */
            readonly called: number;
            /** @description How many waiting entries have a visitor who is present. */
            readonly present: number;
            /** @description How many waiting entries were passed over, because the visitor had not checked in. They keep their places. */
            readonly absent: number;
            /** @description How many entries are promoted and not yet claimed. */
            readonly ready: number;
            /** @description How many entries are let in. */
            readonly active: number;
            /** @description How many slots are held for visitors who left or were evicted, as long as a pass of theirs can still be shown. */
            readonly held: number;
            /** @description How many slots there are for ready, active and held entries. */
            readonly capacity: number;
            /** @description How many entries are promoted per interval by the pace in force, which an adaptive queue moves. */
            readonly batch: number;
            /** @description The length of an interval, in seconds. */
            readonly interval_seconds: number;
            /** @description The expected wait of the last in line. Null if none waits, or if no estimate is possible. */
            readonly estimated_wait_seconds: components["schemas"]["WaitEstimate"] | null;
            /** @description Whether as many visitors wait as `queue_limit` allows. */
            readonly full: boolean;
            /** @description With an adaptive pace: whether the last load report says that the protected service is not healthy, or is too old. No entry is promoted then. */
            readonly service_down: boolean;
            /** @description Why no entry is promoted, although some wait. Null if entries are promoted, and if the next one is only not due yet. */
            readonly limited_by: components["schemas"]["LimitedBy"] | null;
            /** @description How many ends the backup may not have yet. */
            readonly unsettled_ends: number;
            /** @description How many records the backup does not have yet. */
            readonly journal: number;
            /** @description The lengths of the journal at which it takes no more. */
            readonly journal_limits: components["schemas"]["JournalCapacity"];
            /** @description How many changes the backup refuses again and again. Above 0, an operator must act. */
            readonly dead_lettered: number;
            /** @description How long ago the promoter ticked the queue, in milliseconds. Null if it never did, and while it is parked. */
            readonly heartbeat_age_ms: number | null;
            /** @description How long ago a request ticked the queue, because the promoter did not, in milliseconds. Null if none did. */
            readonly fallback_tick_age_ms: number | null;
            /** @description How many entries the pace allows to promote at once now. */
            readonly bucket_tokens: number;
            /** @description How many entries took a slot per second in the last one or two minutes. Null if no rate was observed. */
            readonly served_per_second: number | null;
            /** @description How the clocks of the line's server and of the admin function compare. */
            readonly clock: components["schemas"]["ClockDifference"];
            /** @description How many visits began, ended, and so on, since the generation began. */
            readonly totals: components["schemas"]["QueueTotals"];
            /** @description How long the promoted entries had waited. */
            readonly waits: components["schemas"]["DurationTotals"];
            /** @description How long the sessions lasted that ended. */
            readonly stays: components["schemas"]["StayTotals"];
            /** @description How the totals compare with the entries in the line. */
            readonly imbalance: components["schemas"]["Imbalance"];
            /** @description How long ago the line noticed that it may have lost changes, in milliseconds. Null if no check is due for that. */
            readonly check_due_age_ms: number | null;
            /** @description The last load report of the protected service that still counts. Null if there is none. */
            readonly load: components["schemas"]["LastLoad"] | null;
            /** @description The epoch of the queue, which confirms commands. */
            readonly epoch: number;
            /** @description The generation of the queue. Each reset raises it. */
            readonly generation: number;
            /** @description The switches that only the line has, because the backup was unavailable. The promoter stores them. */
            readonly unsaved_switches: readonly string[];
        };
        /** @description The lengths of the journal at which it takes no more, in records. */
        readonly JournalCapacity: {
            /** @description From this length on, no new visitor gets a place. */
            readonly newcomers: number;
            /** @description From this length on, no entry is promoted, either. */
            readonly promotions: number;
        };
        /** @description Totals of a queue. Those of a line count since it created or restored the queue, those of a tally since the generation began. */
        readonly QueueTotals: {
            /** @description New visits. */
            readonly entered: number;
            /** @description New visits that became active at once by the fast track, or because the mode is `passthrough`. */
            readonly fast_tracked: number;
            /** @description Visits that became active past the line, although the fast track was shut. */
            readonly bypassed: number;
            /** @description Entries that went from waiting to ready. */
            readonly promoted: number;
            /** @description Entries that went from ready to active. */
            readonly claimed: number;
            /** @description Visits that were completed. */
            readonly completed: number;
            /** @description Visits that the visitor ended. */
            readonly left: number;
            /** @description Visits that an operator ended. */
            readonly evicted: number;
            /** @description Sessions that expired. */
            readonly expired: number;
            /** @description Promoted entries whose visitors did not claim in time. */
            readonly no_shows: number;
            /** @description Waiting entries whose visitors were absent for too long. */
            readonly absences: number;
            /** @description Waiting entries whose waits lasted longer than the queue allows. */
            readonly overlong_waits: number;
            /** @description Waiting entries that ended because the queue was finished. */
            readonly dismissed: number;
            /** @description Visits that went on after they had been counted as ended: visitors who came back after a missed turn, and entries that the backup had in a later state. */
            readonly returned: number;
        };
        /** @description Durations by their number and sum. */
        readonly DurationTotals: {
            /** @description How many there were. */
            readonly count: number;
            /** @description Their sum, in milliseconds. */
            readonly sum_ms: number;
        };
        /** @description How long sessions lasted. */
        readonly StayTotals: {
            /** @description How many ended. */
            readonly count: number;
            /** @description The sum of their lengths, in milliseconds. */
            readonly sum_ms: number;
            /** @description The length that half of them did not exceed, in milliseconds. Null without a session. */
            readonly p50_ms: number | null;
            /** @description The length that 90 % of them did not exceed, in milliseconds. Null without a session. */
            readonly p90_ms: number | null;
        };
        /** @description How the totals compare with the entries in the line. The difference stays the same until the line loses entries. */
        readonly Imbalance: {
            /** @description Visits that began or returned, minus those that ended, minus the entries in the line. */
            readonly visits: number;
            /** @description The same when the last consistency check began, or at the restore if there was none since. */
            readonly at_check: number;
        };
        /** @description A load report of the protected service. */
        readonly LastLoad: {
            /** @description The requests per second that the service serves. Null if it does not say. */
            readonly tps: number | null;
            /** @description The time that the service takes for one request, in milliseconds. Null if it does not say. */
            readonly latency_ms: number | null;
            /** @description Whether the service considers itself healthy. */
            readonly healthy: boolean;
            /** @description How long ago the report came, in milliseconds. */
            readonly age_ms: number;
        };
        /** @description The result of `report`: what happened in a queue since its generation began. */
        readonly QueueReport: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description The generation of which it reports. The orders are of all generations. */
            readonly generation: number;
            /** @description The epoch of the last change that is counted. */
            readonly epoch: number;
            /** @description When the numbers were counted, in Unix milliseconds. From the backup they are some seconds old. */
            readonly as_of_ms: number;
            /** @description The entries in the queue now. Null if the line does not have this generation of the queue. */
            readonly live: components["schemas"]["LiveCounts"] | null;
            /** @description How many visits began, ended, and so on. */
            readonly totals: components["schemas"]["ReportedTotals"];
            /** @description How long all promoted entries waited, from entering to the promotion, but not from before the opening. Visitors of the fast track are not among them. */
            readonly waits: components["schemas"]["DurationReport"];
            /** @description How long the sessions lasted that ended: completed, left, evicted or run out. */
            readonly stays: components["schemas"]["DurationReport"];
            /** @description The most entries in line. */
            readonly peak: components["schemas"]["PeakWaiting"];
            /** @description The last orders that changed the queue, the oldest first. */
            readonly orders: readonly components["schemas"]["OperatorOrder"][];
            /** @description How many orders are kept. */
            readonly orders_kept: number;
            /** @description How many older orders there were. */
            readonly orders_fallen_out: number;
        };
        /** @description The entries of a queue. */
        readonly LiveCounts: {
            /** @description What the queue does. */
            readonly state: components["schemas"]["QueueState"];
            /** @description How many entries wait, absent ones not counted. */
            readonly waiting: number;
            /** @description How many waiting entries were passed over, because the visitor had not checked in. */
            readonly absent: number;
            /** @description How many entries are promoted and not yet claimed. */
            readonly ready: number;
            /** @description How many entries are let in. */
            readonly active: number;
            /** @description How many slots are held for visitors who left or were evicted. */
            readonly held: number;
        };
        /** @description The totals of a report. */
        readonly ReportedTotals: {
            /** @description New visits. */
            readonly entered: number;
            /** @description New visits that became active at once by the fast track, or because the mode is `passthrough`. */
            readonly fast_tracked: number;
            /** @description Visits that became active past the line, although the fast track was shut. */
            readonly bypassed: number;
            /** @description Entries that went from waiting to ready. */
            readonly promoted: number;
            /** @description Entries that went from ready to active. */
            readonly claimed: number;
            /** @description Visits that were completed. */
            readonly completed: number;
            /** @description Visits that the visitor ended. */
            readonly left: number;
            /** @description Visits that an operator ended. */
            readonly evicted: number;
            /** @description Sessions that expired. */
            readonly expired: number;
            /** @description Promoted entries whose visitors did not claim in time. */
            readonly no_shows: number;
            /** @description Waiting entries whose visitors were absent for too long. */
            readonly absences: number;
            /** @description Waiting entries whose waits lasted longer than the queue allows. */
            readonly overlong_waits: number;
            /** @description Waiting entries that ended because the queue was finished. */
            readonly dismissed: number;
            /** @description Visits that went on after they had been counted as ended: visitors who came back after a missed turn, and entries that the backup had in a later state. */
            readonly returned: number;
            /** @description Visits that became active: `claimed`, `fast_tracked` or `bypassed`. */
            readonly let_in: number;
        };
        /** @description Durations: figures, and a histogram. */
        readonly DurationReport: {
            /** @description How many there were. */
            readonly count: number;
            /** @description Their mean, in milliseconds. Null without any. */
            readonly mean_ms: number | null;
            /** @description The longest, in milliseconds. Null without any. */
            readonly max_ms: number | null;
            /** @description The duration that half of them did not exceed, in milliseconds. Null without any. */
            readonly p50_ms: number | null;
            /** @description The duration that 90 % of them did not exceed, in milliseconds. Null without any. */
            readonly p90_ms: number | null;
            /** @description The duration that 99 % of them did not exceed, in milliseconds. Null without any. */
            readonly p99_ms: number | null;
            /** @description By how much of itself a percentile may be off. The mean and the longest are exact. */
            readonly relative_error: number;
            /** @description The buckets that are not empty, the shortest durations first. */
            readonly buckets: readonly components["schemas"]["HistogramBucket"][];
        };
        /** @description One bucket with its bounds. */
        readonly HistogramBucket: {
            /** @description The shortest duration that belongs to the bucket, in milliseconds. */
            readonly from_ms: number;
            /** @description The shortest duration that belongs to a later bucket, in milliseconds. */
            readonly below_ms: number;
            /** @description How many durations are in the bucket. */
            readonly count: number;
        };
        /** @description The most entries that were in line at one tick, absent ones not counted, and when that was first. */
        readonly PeakWaiting: {
            /** @description The number of entries. */
            readonly waiting: number;
            /** @description When, in Unix milliseconds; 0 if no entry ever waited at a tick. */
            readonly at_ms: number;
        };
        /** @description An order of an operator that was carried out. */
        readonly OperatorOrder: {
            /** @description When it was carried out, in Unix milliseconds. */
            readonly at_ms: number;
            /** @description The operation. */
            readonly op: string;
            /** @description The operator, as the identity of the call or the order itself says. Absent if neither does. */
            readonly caller?: string;
            /** @description The id of the request to the function, by which `CloudTrail` tells who sent it. */
            readonly request_id?: string;
            /** @description The generation of the queue after the order. */
            readonly generation: number;
            /** @description The fields of the order, in JSON, without those that name a visitor or confirm the order. */
            readonly arguments: string;
            /** @description The tokens of the entries that the order concerned, however it named them. The log keeps them for as long as the records of the entries at most. Absent if it concerned none, or keeps them no more. */
            readonly tokens?: readonly string[];
            /** @description Until when the log keeps the tokens, in Unix milliseconds. Absent without tokens. */
            readonly tokens_until_ms?: number;
            /** @description The settings that the order changed, as they were before. Absent if it changed none. */
            readonly settings_before?: {
                readonly [key: string]: unknown;
            };
            /** @description The revision of the settings after the order, if it changed settings. */
            readonly revision?: string;
        };
        /** @description The result of `report` with `"format": "csv"`. */
        readonly CsvReport: {
            /** @description Rows with the columns `section, name, value, at_ms, at, caller, request_id, details`, after a byte order mark. */
            readonly csv: string;
        };
        /** @description The result of `entries`: one page. */
        readonly EntryList: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description The generation of the queue. */
            readonly generation: number;
            /** @description The entries of the page, in the order of shard and token. A page may be short or empty before the last one. */
            readonly entries: readonly components["schemas"]["EntryRow"][];
            /** @description The `cursor` of the command that shows the next page. Null after the last one. */
            readonly cursor: string | null;
            /** @description True if the line does not answer, so that the states are those of the backup. */
            readonly degraded: boolean;
        };
        /** @description One entry of a page. A live entry is as the line has it, an ended one as the backup has it. */
        readonly EntryRow: {
            /** @description The token of the entry, a UUID. */
            readonly token: string;
            /** @description The state of the entry. */
            readonly state: components["schemas"]["EntryState"];
            /**
             * @description For a waiting entry: where its visitor is. Null for any other, and if the line does not answer. `present`: The visitor checked in lately, or presence is off. `absent`: The head of the lane has gone past the visitor, who is not present. `called`: The visitor is called, and is not present. `not_called`: The visitor is not called yet.
             * @enum {string|null}
             */
            readonly presence: "present" | "absent" | "called" | "not_called" | null;
            /** @description The number of the visit. */
            readonly visit: number;
            /** @description The lane, from 0 (served first) to 7. Null if the backup does not have the place. */
            readonly lane: number | null;
            /** @description When the visitor entered, in Unix milliseconds. Null if the backup does not have the place. */
            readonly joined_at_ms: number | null;
            /** @description When the entry was promoted, in Unix milliseconds. Null if it was not. */
            readonly promoted_at_ms: number | null;
            /** @description When the visitor was let in, in Unix milliseconds. Null if that did not happen. */
            readonly claimed_at_ms: number | null;
            /** @description The last deadline, in Unix milliseconds: of the claim, or the end of the session. Null if there was none. */
            readonly expires_at_ms: number | null;
            /** @description When the visit ended, in Unix milliseconds. Null if it goes on, and if its time ran out. */
            readonly ended_at_ms: number | null;
            /** @description How the visit ended: `completed`, `left`, `evicted`, `no-show`, `expired`, `absence`, `overlong-wait` or `dismissed`, or how the protected service consumed it. Null if it goes on. */
            readonly ended_by: string | null;
        };
        /** @description The result of `check`: what differed between line and backup, and was repaired. */
        readonly CheckResult: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description Entries with a place in the line. */
            readonly checked_line: number;
            /** @description Live entries in the backup. */
            readonly checked_table: number;
            /** @description Places that the backup did not have. */
            readonly written: number;
            /** @description Places that the backup had in another form than the line. */
            readonly rewritten: number;
            /** @description Entries for which the backup had a later state (promoted, let in, or a longer session), which the line took over. */
            readonly adopted: number;
            /** @description Places that the line had lost. */
            readonly restored: number;
            /** @description Ends that the backup did not have, or that the line no longer had to remember. */
            readonly ended: number;
            /** @description Places that the line still had after their end. */
            readonly removed: number;
            /** @description Differences left to the next check, because a change was under way, or because neither side was certainly right. */
            readonly skipped: number;
            /** @description Changes that the backup refuses, after one more try. */
            readonly dead_lettered: number;
            /** @description What Redis does when its memory is full. It must be `noeviction`. `unknown` if Redis does not say. */
            readonly eviction_policy: string;
            /** @description True if the whole queue was compared. */
            readonly complete: boolean;
            /** @description Where the check stopped: the `from_shard` of the next command. Null if `complete` is true. */
            readonly next_shard: number | null;
        };
        /** @description The result of `plan` for a protected service. */
        readonly ServicePlan: {
            /** @description Settings for `create` and `update`. */
            readonly settings: components["schemas"]["PlannedSettings"];
        };
        /** @description Settings that a plan proposes. */
        readonly PlannedSettings: {
            /** @description The capacity, in entries. */
            readonly capacity: number;
            /** @description How many entries are promoted per interval. */
            readonly batch: number;
            /** @description The length of an interval, in seconds. */
            readonly interval_seconds: number;
            /** @description The length of a session, in seconds. */
            readonly session_seconds: number;
        };
        /** @description The result of `plan` with `visitors`: what a crowd asks of each part of the deployment, and what it costs. */
        readonly CrowdPlan: {
            /** @description The fields that the command did not give and that matter most, with the values that the plan uses. */
            readonly assumed: {
                readonly [key: string]: unknown;
            };
            /** @description Settings for `create`. The protected service must be able to carry this capacity and pace. */
            readonly settings: components["schemas"]["PlannedSettings"];
            /** @description How many visitors the queue lets in per hour. */
            readonly visitors_per_hour: number;
            /** @description The most visitors that the hash slot of the queue carries per hour. */
            readonly visitors_per_hour_max: number;
            /** @description The mean wait, in minutes. It is longer than the one of the command if the queue carries no higher pace. */
            readonly wait_minutes_mean: number;
            /** @description The longest wait, in minutes. */
            readonly wait_minutes_longest: number;
            /** @description What each part of the deployment needs and gives, the fullest first. */
            readonly parts: readonly components["schemas"]["PartPlan"][];
            /** @description Requests of a visitor to the API, on average. */
            readonly requests_per_visitor: number;
            /** @description Reads of the public document by a visitor, on average. */
            readonly document_reads_per_visitor: number;
            /** @description What the crowd costs. */
            readonly cost: components["schemas"]["CrowdBill"];
        };
        /** @description What a crowd asks of one part of a deployment in its busiest time. */
        readonly PartPlan: {
            /** @description The part. */
            readonly part: string;
            /** @description What is counted. */
            readonly unit: string;
            /** @description How many of it the crowd needs. */
            readonly needed: number;
            /** @description How many of it the part gives by the defaults of the template and of a new account. */
            readonly given: number;
            /** @description From where that is known. */
            readonly source: string;
            /** @description The share of `given` that is needed. Above 1, the part is too small. */
            readonly share: number;
            /** @description What to raise. Absent if 15 % of the part stay free. */
            readonly remedy?: string;
        };
        /** @description What a crowd costs, at list prices. */
        readonly CrowdBill: {
            /** @description The currency: `USD`. */
            readonly currency: string;
            /** @description The month of the prices, which are those of us-east-1. */
            readonly prices_of: string;
            /** @description The whole cost. */
            readonly total: number;
            /** @description What is charged, the dearest first. */
            readonly items: readonly components["schemas"]["BillItem"][];
        };
        /** @description One line of a bill. */
        readonly BillItem: {
            /** @description What is charged. */
            readonly what: string;
            /** @description How many units of it. */
            readonly units: number;
            /** @description The cost, in US dollars. */
            readonly dollars: number;
            /** @description The page with the price. */
            readonly page: string;
        };
        /** @description The result of `preflight`. */
        readonly PreflightResult: {
            /** @description Which build answers. */
            readonly build: components["schemas"]["Build"];
            /** @description One finding for each check. */
            readonly findings: readonly components["schemas"]["Finding"][];
        };
        /** @description What a preflight found of one thing. */
        readonly Finding: {
            /** @description The stable name of the check, such as `line-time`. */
            readonly check: string;
            /**
             * @description Whether the thing is as it must be. `ok`: It is. `fault`: It is not, and the remedy says what to do. `unknown`: The preflight could not find out, and the remedy says how to.
             * @enum {string}
             */
            readonly outcome: "ok" | "fault" | "unknown";
            /** @description What the preflight saw. */
            readonly found: string;
            /** @description What to do, in one sentence. Absent if the outcome is `ok`. */
            readonly remedy?: string;
        };
        /** @description The result of `restore` and `reset`. */
        readonly RestoredQueue: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description The new epoch of the queue, which confirms commands. */
            readonly epoch: number;
            /** @description Passes with a lower epoch are void. A reset raises it. */
            readonly min_epoch: number;
            /** @description The generation of the queue. A reset raises it. */
            readonly generation: number;
            /** @description How many entries wait. */
            readonly waiting: number;
            /** @description How many entries are ready. */
            readonly ready: number;
            /** @description How many entries are active. */
            readonly active: number;
            /** @description How many changes only the line had, which the backup has now. */
            readonly flushed_changes: number;
        };
        /** @description The result of `rotate`. */
        readonly KeyRotation: {
            /** @description Now, in Unix milliseconds: the new key is among the public keys, and services begin to read it. */
            readonly published_at_ms: number;
            /** @description When new passes are signed with the new key, in Unix milliseconds. At once if the old one `leaked`. */
            readonly signs_from_ms: number;
            /** @description When the old key is published no more, in Unix milliseconds: its last pass has ended. Null if it `leaked`. */
            readonly old_key_retires_at_ms: number | null;
            /** @description How old the keys in a process or a cache may be, in seconds. */
            readonly key_cache_seconds: number;
            /** @description How many keys the ring has, with those that still verify passes. */
            readonly keys: number;
            /** @description How many leaked keys the public documents list. */
            readonly void_keys: number;
        };
        /** @description How many entries an `evict` without its confirmation would evict: the member `matching` of the problem `confirmation-needed`. */
        readonly MatchingEntries: {
            /** @description All live entries. */
            readonly entries: number;
            /** @description Waiting entries whose visitors checked in lately, or all if presence is off. */
            readonly present: number;
            /** @description Waiting entries that were passed over, because the visitor had not checked in. */
            readonly absent: number;
            /** @description Waiting entries that are called, and whose visitors are not present. */
            readonly called: number;
            /** @description Waiting entries that are not called yet. */
            readonly not_called: number;
            /** @description Entries that are promoted and not yet claimed. */
            readonly ready: number;
            /** @description Entries that are let in. */
            readonly active: number;
            /** @description How many entries of the source or the time would stay: their visitors were present or let in, or came a moment ago. */
            readonly spared: number;
            /** @description Whether all entries of the queue were looked at. */
            readonly complete: boolean;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type CreatedQueue = components['schemas']['CreatedQueue'];
export type CreatedQueues = components['schemas']['CreatedQueues'];
export type CreationRow = components['schemas']['CreationRow'];
export type PrefixDefaults = components['schemas']['PrefixDefaults'];
export type AllDefaults = components['schemas']['AllDefaults'];
export type SettingsChange = components['schemas']['SettingsChange'];
export type QueueDescription = components['schemas']['QueueDescription'];
export type QueueState = components['schemas']['QueueState'];
export type ClockDifference = components['schemas']['ClockDifference'];
export type Build = components['schemas']['Build'];
export type SettingHelp = components['schemas']['SettingHelp'];
export type CommandHelp = components['schemas']['CommandHelp'];
export type QueueList = components['schemas']['QueueList'];
export type QueueRow = components['schemas']['QueueRow'];
export type Mode = components['schemas']['Mode'];
export type WaitEstimate = components['schemas']['WaitEstimate'];
export type DeletedQueue = components['schemas']['DeletedQueue'];
export type Promotion = components['schemas']['Promotion'];
export type LimitedBy = components['schemas']['LimitedBy'];
export type EntryPromotion = components['schemas']['EntryPromotion'];
export type LaneMove = components['schemas']['LaneMove'];
export type Eviction = components['schemas']['Eviction'];
export type EntryState = components['schemas']['EntryState'];
export type Evictions = components['schemas']['Evictions'];
export type InspectedEntry = components['schemas']['InspectedEntry'];
export type Place = components['schemas']['Place'];
export type BlockInForce = components['schemas']['BlockInForce'];
export type RecordKeys = components['schemas']['RecordKeys'];
export type RecordedVisit = components['schemas']['RecordedVisit'];
export type RecordVersion = components['schemas']['RecordVersion'];
export type SourceList = components['schemas']['SourceList'];
export type SourceRow = components['schemas']['SourceRow'];
export type SourceCounts = components['schemas']['SourceCounts'];
export type BlockChange = components['schemas']['BlockChange'];
export type QueueStats = components['schemas']['QueueStats'];
export type JournalCapacity = components['schemas']['JournalCapacity'];
export type QueueTotals = components['schemas']['QueueTotals'];
export type DurationTotals = components['schemas']['DurationTotals'];
export type StayTotals = components['schemas']['StayTotals'];
export type Imbalance = components['schemas']['Imbalance'];
export type LastLoad = components['schemas']['LastLoad'];
export type QueueReport = components['schemas']['QueueReport'];
export type LiveCounts = components['schemas']['LiveCounts'];
export type ReportedTotals = components['schemas']['ReportedTotals'];
export type DurationReport = components['schemas']['DurationReport'];
export type HistogramBucket = components['schemas']['HistogramBucket'];
export type PeakWaiting = components['schemas']['PeakWaiting'];
export type OperatorOrder = components['schemas']['OperatorOrder'];
export type CsvReport = components['schemas']['CsvReport'];
export type EntryList = components['schemas']['EntryList'];
export type EntryRow = components['schemas']['EntryRow'];
export type CheckResult = components['schemas']['CheckResult'];
export type ServicePlan = components['schemas']['ServicePlan'];
export type PlannedSettings = components['schemas']['PlannedSettings'];
export type CrowdPlan = components['schemas']['CrowdPlan'];
export type PartPlan = components['schemas']['PartPlan'];
export type CrowdBill = components['schemas']['CrowdBill'];
export type BillItem = components['schemas']['BillItem'];
export type PreflightResult = components['schemas']['PreflightResult'];
export type Finding = components['schemas']['Finding'];
export type RestoredQueue = components['schemas']['RestoredQueue'];
export type KeyRotation = components['schemas']['KeyRotation'];
export type MatchingEntries = components['schemas']['MatchingEntries'];

/** What each command answers. */
export interface Results {
  readonly create: CreatedQueue | CreatedQueues;
  readonly defaults: PrefixDefaults | AllDefaults;
  readonly update: SettingsChange;
  readonly describe: QueueDescription;
  readonly list: QueueList;
  readonly open: SettingsChange;
  readonly pause: SettingsChange;
  readonly resume: SettingsChange;
  readonly drain: SettingsChange;
  readonly close: SettingsChange;
  readonly finish: SettingsChange;
  readonly delete: DeletedQueue;
  readonly promote: Promotion | EntryPromotion;
  readonly lane: LaneMove;
  readonly evict: Eviction | Evictions;
  readonly inspect: InspectedEntry;
  readonly sources: SourceList;
  readonly block: BlockChange;
  readonly unblock: BlockChange;
  readonly stats: QueueStats;
  readonly report: QueueReport | CsvReport;
  readonly entries: EntryList;
  readonly check: CheckResult;
  readonly plan: ServicePlan | CrowdPlan;
  readonly preflight: PreflightResult;
  readonly restore: RestoredQueue;
  readonly reset: RestoredQueue;
  readonly rotate: KeyRotation;
}
