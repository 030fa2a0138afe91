import { type LowestPosition } from "./shown_position.js";
import type { PlaceStorage } from "./types.js";
/** A place that was stored. Without one, the token is empty. */
export interface StoredPlace {
    readonly token: string;
    readonly lowest: LowestPosition;
}
/** No place. */
export declare const NO_PLACE: StoredPlace;
/** Values that last as long as the returned object. */
export declare function memoryStorage(): PlaceStorage;
/**
 * A visitor id. Where `randomUUID` does not exist, such as on an insecure page, it is empty, and the server generates one.
 */
export declare function drawVisitor(): string;
/** Reads and writes what is stored. The client works without a storage, so no failure of it counts. */
export declare class PlaceRecords {
    #private;
    /** Whether something that was written is not kept. */
    isUnstored: boolean;
    /** `address` is that of the queue. Without a `storage`, it is the browser's. */
    constructor(storage: PlaceStorage | undefined, address: string);
    /** Returns the visitor id. The client draws it before its first request, so that a retry of entering is safe. */
    readVisitor(): Promise<string>;
    /** Reads the accounts of this tab, or of the browser. */
    readAccounts(): Promise<string>;
    /** Stores the accounts for this tab, and for the next one. */
    writeAccounts(text: string): void;
    /** Reads the text of the place of an account, if it has one. */
    readPlaceOf(account: string): Promise<string | null | void>;
    /** Reads the secret that a ticket for this queue gave. */
    readSecret(): Promise<string | null | void>;
    /** Stores the visitor id, or the secret of this queue. */
    writeVisitor(visitor: string): Promise<unknown>;
    /** Reads and writes the place of this account from now on. */
    selectAccount(account: string): void;
    /** Reads the place. */
    readPlace(): Promise<StoredPlace>;
    /** Stores the place. An empty token removes it. */
    writePlace({ token, lowest }: StoredPlace): void;
}
