/** Sends the visitor to the shop, unless the shop sends the visitor back again and again. */
export declare class HandOver {
    #private;
    /** Whether the shop has sent the visitor back twice within a minute: then it does not accept the pass. */
    isLooping: boolean;
    /**
     * Goes to the shop, once with each entry: another account is no loop. The address replaces this page in the history, so
     * that going back does not redirect again.
     */
    go(address: string, token: string): void;
}
