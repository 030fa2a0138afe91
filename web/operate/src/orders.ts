// The orders of the console: what each asks for, and the command that it becomes. Pure.

import type { Command, Detail, Message, Operation, Right, Settings } from "./types.js";

/** What the operator has filled in, by field. */
export type Values = Readonly<Record<string, string>>;

/** One field of an order. Its words are `field_NAME`, or those of `text`. */
export interface Field {
  readonly name: string;
  readonly kind: "number" | "text" | "message" | "choice" | "flag" | "moment";
  readonly min?: number;
  readonly max?: number;
  /** The values of a choice. Their words are `choice_NAME_VALUE`. */
  readonly choices?: readonly string[];
  readonly optional?: boolean;
  /** Whether the field is asked for with these values. */
  readonly isAsked?: (values: Values) => boolean;
}

/** The settings that an operator has seen before an order. */
export type Seen = Pick<Detail, "settings" | "revision">;

/** One order. Its words are `order_NAME` and `order_NAME_note`. */
export interface Order {
  readonly fields: readonly Field[];
  /** The right that the order needs, if it is not that to operate. */
  readonly right?: Right;
  /** Whether the queue's name must be typed, and its epoch sent. */
  readonly isDestructive?: boolean | ((values: Values, seen: Seen) => boolean);
  /** Whether the command without its confirmation says how many entries match. */
  readonly hasPreview?: boolean;
  /** What the fields show at first. */
  readonly first?: (settings: Settings | null) => Values;
  readonly toCommand: (queue: string, values: Values, seen: Seen) => Command;
}

const LANES = ["0", "1", "2", "3", "4", "5", "6", "7"] as const;
const BLOCK_SECONDS = ["600", "3600", "21600", "86400"] as const;

const whole = (text: string | undefined) => Number.parseInt(text ?? "", 10);
const simple = (op: Operation, isDestructive = false, right: Right = "operate"): Order => ({ fields: [], isDestructive, right, toCommand: (queue) => ({ op, queue }) });

// An order that changes settings sends those that its operator changed, and what they were when the operator saw them.
const change = (fields: readonly Field[], first: (settings: Settings) => Values, toSettings: (values: Values) => Record<string, unknown>): Order => ({
  fields,
  first: (settings) => (settings ? first(settings) : {}),
  toCommand(queue, values, { settings: seen, revision }) {
    const before = seen ? toSettings(first(seen)) : {};
    const settings = Object.fromEntries(Object.entries(toSettings(values)).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));
    return { op: "update", queue, settings, ...(revision ? { revision } : {}) };
  },
});

const token: Field = { name: "token", kind: "text" };
const source: Field = { name: "source", kind: "text" };
const isTarget = (target: string) => (values: Values) => values["target"] === target;
const target: Field = { name: "target", kind: "choice", choices: ["source", "token"] };

// The source or the token, as the choice of the target says.
const targetOf = (values: Values) => (values["target"] === "token" ? { token: values["token"] } : { source: values["source"] });

// The value of a field for a message is JSON.
const readMessage = (values: Values): Message => JSON.parse(values["message"] ?? "null");

/** The moment of a field `datetime-local`, or `null` if it is empty. */
export const toMoment = (text: string | undefined): number | null => (text ? new Date(text).getTime() : null);

const isPast = (text: string | undefined) => (toMoment(text) ?? Infinity) <= Date.now();

// As in the admin function: a capacity that becomes so many times larger could flood the protected service.
const CAPACITY_FACTOR = 10;
const isFlood = (capacity: number | undefined, { settings }: Seen) => Boolean(settings && capacity && capacity >= CAPACITY_FACTOR * settings.capacity);

const MOMENTS = ["opens_at_ms", "closes_at_ms", "ends_at_ms"] as const;
const momentFields: Field[] = MOMENTS.map((name) => ({ name, kind: "moment", optional: true }));
const messageField: Field = { name: "message", kind: "message", optional: true };
const PACE: Field[] = [
  { name: "batch", kind: "number", min: 1, max: 1_000_000 },
  { name: "interval_seconds", kind: "number", min: 1, max: 3_600 },
  { name: "capacity", kind: "number", min: 1, max: 10_000_000 },
];

const PACE_NAMES = ["batch", "interval_seconds", "capacity"] as const;
const named = (values: Values, names: readonly string[]) => Object.fromEntries(names.map((name) => [name, whole(values[name])]));
const toLocal = (atMs: number | null) => (atMs ? new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16) : "");
const moments = (values: Values) => Object.fromEntries(MOMENTS.map((name) => [name, toMoment(values[name])]));

/** All orders by name. */
export const ORDERS = {
  pause: simple("pause"),
  resume: simple("resume"),
  message: change([messageField], ({ message }) => ({ message: JSON.stringify(message) }), (values) => ({ message: readMessage(values) })),
  // The pace desk has the fields.
  pace: {
    ...change([], (settings) => Object.fromEntries(PACE_NAMES.map((name) => [name, String(settings[name])])), (values) => named(values, PACE_NAMES)),
    isDestructive: (values, seen) => isFlood(whole(values["capacity"]), seen),
  },
  // The settings as they were before an order of the log.
  set_back: {
    fields: [],
    isDestructive: (values, seen) => isFlood(JSON.parse(values["settings"] ?? "{}").capacity, seen),
    toCommand: (queue, values, { revision }) => ({ op: "update", queue, settings: JSON.parse(values["settings"] ?? "{}"), revision }),
  },
  let_in: {
    first: () => ({ who: "head", count: "1" }),
    fields: [
      { name: "who", kind: "choice", choices: ["head", "one"] },
      { name: "count", kind: "number", min: 1, max: 1_000_000, isAsked: (values) => values["who"] !== "one" },
      { ...token, isAsked: (values) => values["who"] === "one" },
      { name: "over_pace", kind: "flag", optional: true, isAsked: (values) => values["who"] === "one" },
    ],
    toCommand: (queue, values) =>
      values["who"] === "one"
        ? { op: "promote", queue, token: values["token"], ...(values["over_pace"] ? { over_pace: true } : {}) }
        : { op: "promote", queue, count: whole(values["count"]) },
  },
  lane: {
    first: () => ({ lane: "0" }),
    fields: [token, { name: "lane", kind: "choice", choices: LANES }],
    toCommand: (queue, values) => ({ op: "lane", queue, token: values["token"], lane: whole(values["lane"]) }),
  },
  lane_share: change(
    [{ name: "lane_share", kind: "number", min: 0, max: 50 }],
    ({ lane_share }) => ({ lane_share: String(lane_share) }),
    (values) => ({ lane_share: whole(values["lane_share"]) }),
  ),
  evict: {
    right: "end",
    fields: [token],
    isDestructive: true,
    toCommand: (queue, values) => ({ op: "evict", queue, token: values["token"] }),
  },
  evict_source: {
    right: "end",
    fields: [source, { name: "all", kind: "flag", optional: true }],
    isDestructive: true,
    hasPreview: true,
    toCommand: (queue, values) => ({ op: "evict", queue, source: values["source"], ...(values["all"] ? { all: true } : {}) }),
  },
  block: {
    first: () => ({ for_seconds: "3600" }),
    fields: [target, { ...source, isAsked: (values) => !isTarget("token")(values) }, { ...token, isAsked: isTarget("token") }, { name: "for_seconds", kind: "choice", choices: BLOCK_SECONDS }],
    toCommand: (queue, values) => ({ op: "block", queue, ...targetOf(values), for_seconds: whole(values["for_seconds"]) }),
  },
  unblock: {
    fields: [target, { ...source, isAsked: (values) => !isTarget("token")(values) }, { ...token, isAsked: isTarget("token") }],
    toCommand: (queue, values) => ({ op: "unblock", queue, ...targetOf(values) }),
  },
  open: simple("open"),
  drain: simple("drain", true),
  times: {
    ...change(momentFields, (settings) => Object.fromEntries(MOMENTS.map((name) => [name, toLocal(settings[name])])), moments),
    // An end that has passed finishes the queue at once.
    isDestructive: (values) => isPast(values["ends_at_ms"]),
  },
  report: {
    right: "look",
    fields: [{ name: "format", kind: "choice", choices: ["json", "csv"] }],
    toCommand: (queue, values) => ({ op: "report", queue, format: values["format"] }),
  },
  close: simple("close", true, "end"),
  finish: {
    right: "end",
    fields: [{ name: "reason", kind: "choice", choices: ["over", "sold_out", "cancelled"] }, messageField],
    isDestructive: true,
    first: (settings) => ({ message: JSON.stringify(settings?.message ?? null) }),
    toCommand: (queue, values, { settings }) => {
      const message = readMessage(values);
      const isChanged = message && JSON.stringify(message) !== JSON.stringify(settings?.message ?? null);
      return { op: "finish", queue, reason: values["reason"], ...(isChanged ? { message } : {}) };
    },
  },
  delete: simple("delete", true, "end"),
  create: {
    first: () => ({ batch: "10", interval_seconds: "10", capacity: "100", session_seconds: "300" }),
    fields: [
      { name: "queue", kind: "text" },
      ...PACE,
      { name: "session_seconds", kind: "number", min: 1, max: 86_400 },
      momentFields[0]!,
    ],
    toCommand: (_, values) => ({
      op: "create",
      queue: values["queue"] ?? "",
      settings: {
        ...named(values, [...PACE_NAMES, "session_seconds"]),
        ...(values["opens_at_ms"] ? { opens_at_ms: toMoment(values["opens_at_ms"]) } : {}),
      },
    }),
  },
} satisfies Record<string, Order>;

/** The name of an order. */
export type OrderName = keyof typeof ORDERS;

/** The orders of the menu, in its order. The destructive ones are last. */
export const MENU: readonly OrderName[] = [
  "open", "drain", "times", "lane", "lane_share", "block", "unblock", "evict", "evict_source", "report", "close", "finish", "delete",
];

/** Whether an order with these values needs the queue's name, typed. */
export const needsName = ({ isDestructive }: Order, values: Values, seen: Seen): boolean => (typeof isDestructive === "function" ? isDestructive(values, seen) : Boolean(isDestructive));

const RIGHTS: readonly Right[] = ["look", "operate", "end"];

/** Whether an operator with this right may give the order. */
export const isAllowed = ({ right = "operate" }: Order, given: Right): boolean => RIGHTS.indexOf(given) >= RIGHTS.indexOf(right);

/** The settings that a command changes. */
export const changedSettings = (command: Command): Readonly<Record<string, unknown>> => (command.op === "update" ? (command["settings"] as Record<string, unknown>) : {});

/** What a search means: the name of a queue, or the command that shows an entry. */
export function readSearch(text: string, queues: readonly string[], selected: string): { queue: string } | { command: Command<"inspect"> } | undefined {
  const wanted = text.trim();
  if (!wanted) return undefined;
  const queue = queues.find((name) => name === wanted) ?? queues.find((name) => name.toLowerCase().includes(wanted.toLowerCase()));
  if (queue) return { queue };
  if (!selected) return undefined;
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i.exec(wanted);
  // An entry token is a UUID of version 8, and the id that a browser makes for its visitor is one of version 4.
  if (uuid?.[1] === "8") return { command: { op: "inspect", queue: selected, token: wanted } };
  return { command: { op: "inspect", queue: selected, visitor: wanted, kind: uuid ? "anon" : "known" } };
}
