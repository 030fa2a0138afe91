import type { WaitRange } from "./answers.js";
import type { ProblemError } from "./problem.js";
/** Values that outlast the page or the app. `localStorage` is one, and so is `AsyncStorage` of React Native. */
export interface PlaceStorage {
    /** Reads a value, or `null`. */
    getItem(key: string): string | null | Promise<string | null>;
    /** Writes a value. */
    setItem(key: string, value: string): unknown;
}
/** What changed. `visibility` also means that the device may have slept, and `input` that the visitor acts. */
export type PresenceEvent = "visibility" | "network" | "input";
/** Whether the visitor sees the app, and whether there is a network. A mobile app implements this by its app state. */
export interface Presence {
    /** Whether the visitor sees the app now. */
    isVisible(): boolean;
    /** Whether the device has a network. Without this method it always has one. */
    isOnline?(): boolean;
    /** Calls `notify` after each change. Returns a function that ends this. */
    subscribe(notify: (event: PresenceEvent) => void): () => void;
}
/** What `joinQueue` needs. Only `queue` is required. */
export interface QueueOptions {
    /** The id of the queue. */
    queue: string;
    /**
     * The part of the API's address before `/queues`, such as `https://api.example/Prod`, or a path. Empty for the page's
     * origin. `joinQueue` throws on anything else.
     */
    base?: string;
    /**
     * How a turn is claimed. `auto`: at once if the visitor has used the page in the last 60 s, and otherwise with the
     * next input. `manual`: only by `claim()`. A hidden page claims only by `claim()`.
     */
    confirm?: "auto" | "manual";
    /** A path of the shop, such as `/item/7?size=m`, which the address gets in place of `{return}`. */
    returnTo?: string;
    /**
     * Whether the public document is read before entering, for a second at most. If the queue opens with a draw, the client
     * then enters at a random time within the spread that the server sets.
     */
    spread?: boolean;
    /** Ends following the place, as `close()` does. */
    signal?: AbortSignal | undefined;
    /**
     * A ticket by which the shop says who may enter, or a function that fetches one. It is called before each try to enter,
     * so a ticket can be new.
     */
    ticket?: string | (() => string | Promise<string>);
    /**
     * Who is logged in: a text that differs for each account. Default: the `sub` of `ticket`, if that is a text. The storage
     * keeps a place for each account.
     */
    account?: string | undefined;
    /**
     * Headers of each request about the entry, such as `Authorization`. Called before each, so a token can be new.
     * `isOther`: the request is of the place of another account than `account`.
     */
    headers?: (isOther: boolean) => Record<string, string> | Promise<Record<string, string>>;
    /** Replaces the global `fetch`. */
    fetch?: typeof globalThis.fetch;
    /** Where the visitor id and the place are kept. Default: `localStorage` in a browser, and memory elsewhere. */
    storage?: PlaceStorage;
    /** Whether the visitor is there. `always` is for programs. Default: `browser` where there is a `document`. */
    presence?: "browser" | "always" | Presence;
    /**
     * What follows when the visitor closes the page: `leaveOnClose` of `vestibule-client/closing`. Default: the place is kept
     * until the visitor is absent.
     */
    whenClosed?: WhenClosed;
}
/** A tab that sends the requests for all tabs of the visitor. */
export interface LeadingTab {
    /** Whether the visitor had the place before: this page was loaded again, or the tab that led is closed. */
    readonly hadPlace: boolean;
    /**
     * Asks the server for the place, or tells it that this page is closed, if the queue lets its visitors leave by closing the
     * page.
     */
    readonly ask: (kind: "status" | "close") => void;
}
/** What a tab does about its closing from now on. It is called when the tab leads, and returns what ends it. */
export type WhenClosed = (tab: LeadingTab) => () => void;
/**
 * The account that `changeAccount()` goes on as.
 *
 * - `none`: there is none.
 * - `new`: the ticket or the login is of another account than the place. Ask the visitor, and hand over no pass before the
 *   answer. While `status` is `joining`, the place may have ended, and then the ticket counts without a question.
 * - `kept`: the same, and the visitor keeps the place.
 * - `former`: another account has a place in this browser.
 */
export type OtherAccount = "none" | "new" | "kept" | "former";
/** What the visitor is told about the queue. Texts are empty if there is nothing to tell. */
export interface QueueSummary {
    /** `scheduled`, `open`, `paused`, `draining` or `closed`. */
    readonly state: string;
    /** The operator's message in the language of the browser, if it is there. It is text, not markup. */
    readonly message: string;
    /** The message by language tag in lower case, for a page whose visitor chooses the language. */
    readonly messages: Readonly<Record<string, string>>;
    /** Why no entry is promoted although some wait: `capacity`, `clock` or `journal`. */
    readonly limitedBy: string;
    /** Why the queue is over: `over`, `sold_out` or `cancelled`. Empty while it is not. */
    readonly finishReason: string;
    /** How many visitors wait. `NaN` if that is not known. */
    readonly waiting: number;
    /** When the queue opens, as a reading of `performance.now()`. `NaN` if it has opened, or if that is not known. */
    readonly opensAtMs: number;
    /** From when on no new visitor enters, as a reading of `performance.now()`. `NaN` if no time is set or known. */
    readonly closesAtMs: number;
    /** Whether a draw decides the order of those who come before the opening. */
    readonly isDrawn: boolean;
}
interface AnyState {
    /** What the operator says about the queue. */
    readonly queue: QueueSummary;
    /**
     * `online`; `retrying`: the last request failed, and the client tries again; `stale`: no new document has come, so
     * what is shown may be old; `offline`: the device has no network. The place is kept in each of them.
     */
    readonly connection: "online" | "retrying" | "stale" | "offline";
    /** When the last answer came, as a reading of `performance.now()`. 0 if none has come. */
    readonly updatedAtMs: number;
    /** The failure of the last request, or `null`. */
    readonly problem: ProblemError | null;
    /** Whether the visitor can go on as another account. */
    readonly otherAccount: OtherAccount;
    /** Whether the browser lets the page store nothing, so that a reload loses the place. */
    readonly isUnstored: boolean;
}
interface EntryFields extends AnyState {
    /** The name of the place, which the shop's own service may need. It is not a secret. */
    readonly token: string;
    /** The number of the visit, which never repeats in the queue. */
    readonly visit: number;
}
/** The client has not got an answer yet. */
export interface JoiningState extends AnyState {
    readonly status: "joining";
}
/** The visitor is in line. */
export interface WaitingState extends EntryFields {
    readonly status: "waiting";
    /**
     * How many turns come before the visitor's, in all lanes. It rises if visitors enter lanes that go first. `null` if it is
     * not known.
     */
    readonly ahead: number | null;
    /** Whether that is the expected number, because lanes share the turns. */
    readonly isAheadExpected: boolean;
    /** How many turns come after it. `null` if it is not known. */
    readonly behind: number | null;
    /** The position in the own lane: 1 for its head. It never rises within a visit. `null` if it is not known. */
    readonly position: number | null;
    /** The expected wait in seconds, or `null` if the line stands still or no estimate is known. */
    readonly estimatedWaitSeconds: WaitRange | null;
    /** Whether the turn is near, so that the client asks often. */
    readonly isCalled: boolean;
}
/** It is the visitor's turn. */
export interface ReadyState extends EntryFields {
    readonly status: "ready";
    /** When the turn ends, as a reading of `performance.now()`. `NaN` if it is not known. */
    readonly endsAtMs: number;
    /** Whether the client waits for input of the visitor, or for `claim()`. */
    readonly needsInput: boolean;
}
/** The visitor is let in. */
export interface ActiveState extends EntryFields {
    readonly status: "active";
    /** When the session ends, as a reading of `performance.now()`. `NaN` if it is not known. */
    readonly endsAtMs: number;
    /** The pass for the protected service. `null` while the server cannot sign one. */
    readonly pass: string | null;
    /** The address to which the visitor goes, with the pass in it. Empty without a pass or a target of the queue. */
    readonly targetUrl: string;
}
/** The visit has ended. The visitor may join again. `evicted`: an operator has removed the entry. */
export interface EndedState extends EntryFields {
    readonly status: "completed" | "left" | "evicted";
}
/** The queue is over for all who waited. `queue.message` has what the operator says. No retry helps. */
export interface FinishedState extends EntryFields {
    readonly status: "finished";
}
/** The turn was missed, the wait lasted longer than the queue allows, or the session has ended. */
export interface ExpiredState extends EntryFields {
    readonly status: "expired";
    /** Whether the visitor was never let in, and had a turn if there is no `reason`. */
    readonly isMissedTurn: boolean;
    /** `overlong-wait`: the wait lasted longer than the queue allows. */
    readonly reason?: string;
    /** Until when joining again gives the old place back, as a reading of `performance.now()`. `NaN`: it does not. */
    readonly endsAtMs: number;
}
/** The server refuses the visitor, and no retry helps. `problem` says why. */
export interface FailedState extends AnyState {
    readonly status: "failed";
    readonly problem: ProblemError;
}
/** `close()` was called, or the signal was aborted. The server keeps the place for a while. */
export interface ClosedState extends AnyState {
    readonly status: "closed";
}
/** What the visitor sees. It is immutable: each change gives a new object. */
export type PlaceState = JoiningState | WaitingState | ReadyState | ActiveState | EndedState | FinishedState | ExpiredState | FailedState | ClosedState;
/** One visitor's place in one queue. Its functions need no `this`. */
export interface Place extends AsyncIterable<PlaceState> {
    /** What the visitor sees now. */
    readonly state: PlaceState;
    /** Calls `listener` after each change. Returns a function that ends this. */
    readonly subscribe: (listener: (state: PlaceState) => void) => () => void;
    /** Claims the turn, and repeats it as long as the turn lasts. Rejects if the visitor is not let in. */
    readonly claim: () => Promise<ActiveState>;
    /** Gives up the place, or completes the visit. If this rejects with a `ProblemError`, the visitor keeps the place. */
    readonly leave: () => Promise<void>;
    /** Asks for more time, in seconds. Rejects with a `ProblemError` if the server does not give it. */
    readonly extend: (seconds?: number) => Promise<void>;
    /** The visitor keeps the place, and is not asked again in this visit. */
    readonly keepAccount: () => void;
    /** The visitor goes on as the other account. The server keeps the place, to which the same function leads back. */
    readonly changeAccount: () => void;
    /** Ends following the place, and the iterations. The server keeps the place for a while. */
    readonly close: () => void;
}
/** What the library takes from its surroundings. Tests replace it. */
export interface Runtime {
    /** A monotonic clock in milliseconds. */
    now(): number;
    /** Returns a number in [0, 1). */
    random(): number;
}
export {};
