// The channel to the other tabs of the visitor.

/** Opens a channel. A browser may have none, or forbid it to a page that may store nothing. */
export function openChannel(name: string): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(name);
  } catch {
    return undefined;
  }
}
