// The orders of the console: what each asks for, and the command that it becomes. Pure.

import type { Command, Message } from "./types.js";

/** What the operator has filled in, by field. */
export type Values = Readonly<Record<string, string>>;

/** One field of an order. Its words are `field_NAME`, or those of `text`. */
export interface Field {
  readonly name: string;
  readonly kind: "number" | "text" | "area" | "choice" | "flag" | "moment";
  readonly min?: number;
  readonly max?: number;
  /** The values of a choice. Their words are `choice_NAME_VALUE`. */
  readonly choices?: readonly string[];
  /** A language whose name is the label. */
  readonly language?: string;
  readonly optional?: boolean;
  /** Whether the field is asked for with these values. */
  readonly isAsked?: (values: Values) => boolean;
}

/** One order. Its words are `order_NAME` and `order_NAME_note`. */
export interface Order {
  readonly fields: readonly Field[];
  /** Whether the queue's name must be typed, and its epoch sent. */
  readonly isDestructive?: boolean;
  /** Whether the command without its confirmation says how many entries match. */
  readonly hasPreview?: boolean;
  readonly toCommand: (queue: string, values: Values) => Command;
}

/** The languages of the waiting page, for which a message is asked. */
export const MESSAGE_LANGUAGES = ["en", "ko", "ja", "ar"] as const;

const LANES = ["0", "1", "2", "3", "4", "5", "6", "7"] as const;
const BLOCK_SECONDS = ["600", "3600", "21600", "86400"] as const;

const whole = (text: string | undefined) => Number.parseInt(text ?? "", 10);
const simple = (op: string, isDestructive = false): Order => ({ fields: [], isDestructive, toCommand: (queue) => ({ op, queue }) });
const update = (queue: string, settings: Record<string, unknown>): Command => ({ op: "update", queue, settings });

const token: Field = { name: "token", kind: "text" };
const source: Field = { name: "source", kind: "text" };
const isTarget = (target: string) => (values: Values) => values["target"] === target;
const target: Field = { name: "target", kind: "choice", choices: ["source", "token"] };

// The source or the token, as the choice of the target says.
const targetOf = (values: Values) => (values["target"] === "token" ? { token: values["token"] } : { source: values["source"] });

/** The message of the filled texts: `null` without one. The first language is for all others. */
export function toMessage(values: Values): Message {
  const texts = MESSAGE_LANGUAGES.flatMap((tag) => {
    const text = values[tag]?.trim();
    return text ? [[tag as string, text] as const] : [];
  });
  const other = values["other_language"]?.trim().toLowerCase();
  if (other && values["other_text"]?.trim()) texts.push([other, values["other_text"].trim()]);
  return texts.length ? { default: texts[0]![0], ...Object.fromEntries(texts) } : null;
}

/** The moment of a field `datetime-local`, or `null` if it is empty. */
export const toMoment = (text: string | undefined): number | null => (text ? new Date(text).getTime() : null);

const MOMENTS = ["opens_at_ms", "closes_at_ms", "ends_at_ms"] as const;
const momentFields: Field[] = MOMENTS.map((name) => ({ name, kind: "moment", optional: true }));
const messageFields: Field[] = [
  ...MESSAGE_LANGUAGES.map((language): Field => ({ name: language, kind: "area", language, optional: true })),
  { name: "other_language", kind: "text", optional: true },
  { name: "other_text", kind: "area", optional: true, isAsked: (values) => Boolean(values["other_language"]) },
];
const PACE: Field[] = [
  { name: "batch", kind: "number", min: 1, max: 1_000_000 },
  { name: "interval_seconds", kind: "number", min: 1, max: 3_600 },
  { name: "capacity", kind: "number", min: 1, max: 10_000_000 },
];

const named = (values: Values, names: readonly string[]) => Object.fromEntries(names.map((name) => [name, whole(values[name])]));
const moments = (values: Values) => Object.fromEntries(MOMENTS.map((name) => [name, toMoment(values[name])]));

/** All orders by name. */
export const ORDERS = {
  pause: simple("pause"),
  resume: simple("resume"),
  message: {
    fields: messageFields,
    toCommand: (queue, values) => update(queue, { message: toMessage(values) }),
  },
  pace: {
    fields: [],
    // The pace desk has the fields; it gives the settings that change.
    toCommand: (queue, values) => update(queue, named(values, Object.keys(values).filter((name) => PACE.some((field) => field.name === name)))),
  },
  let_in: {
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
    fields: [token, { name: "lane", kind: "choice", choices: LANES }],
    toCommand: (queue, values) => ({ op: "lane", queue, token: values["token"], lane: whole(values["lane"]) }),
  },
  lane_share: {
    fields: [{ name: "lane_share", kind: "number", min: 0, max: 50 }],
    toCommand: (queue, values) => update(queue, { lane_share: whole(values["lane_share"]) }),
  },
  evict: {
    fields: [token],
    isDestructive: true,
    toCommand: (queue, values) => ({ op: "evict", queue, token: values["token"] }),
  },
  evict_source: {
    fields: [source, { name: "all", kind: "flag", optional: true }],
    isDestructive: true,
    hasPreview: true,
    toCommand: (queue, values) => ({ op: "evict", queue, source: values["source"], ...(values["all"] ? { all: true } : {}) }),
  },
  block: {
    fields: [target, { ...source, isAsked: (values) => !isTarget("token")(values) }, { ...token, isAsked: isTarget("token") }, { name: "for_seconds", kind: "choice", choices: BLOCK_SECONDS }],
    toCommand: (queue, values) => ({ op: "block", queue, ...targetOf(values), for_seconds: whole(values["for_seconds"]) }),
  },
  unblock: {
    fields: [target, { ...source, isAsked: (values) => !isTarget("token")(values) }, { ...token, isAsked: isTarget("token") }],
    toCommand: (queue, values) => ({ op: "unblock", queue, ...targetOf(values) }),
  },
  open: simple("open"),
  drain: simple("drain"),
  times: { fields: momentFields, toCommand: (queue, values) => update(queue, moments(values)) },
  report: {
    fields: [{ name: "format", kind: "choice", choices: ["json", "csv"] }],
    toCommand: (queue, values) => ({ op: "report", queue, format: values["format"] }),
  },
  close: simple("close", true),
  finish: {
    fields: [{ name: "reason", kind: "choice", choices: ["over", "sold_out", "cancelled"] }, ...messageFields],
    isDestructive: true,
    toCommand: (queue, values) => {
      const message = toMessage(values);
      return { op: "finish", queue, reason: values["reason"], ...(message ? { message } : {}) };
    },
  },
  delete: simple("delete", true),
  create: {
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
        ...named(values, ["batch", "interval_seconds", "capacity", "session_seconds"]),
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

/** The command with what confirms it. The server of the console adds who gives it. */
export const completeCommand = (order: Order, command: Command, confirm: string, epoch: number): Command =>
  order.isDestructive ? { ...command, confirm, epoch } : command;

/** What a search means: the name of a queue, or the command that shows an entry. */
export function readSearch(text: string, queues: readonly string[], selected: string): { queue: string } | { command: Command } | undefined {
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
