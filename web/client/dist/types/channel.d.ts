/** Opens a channel. A browser may have none, or forbid it to a page that may store nothing. */
export declare function openChannel(name: string): BroadcastChannel | undefined;
