// Looks whether a closed queue has opened again. Only the public document is read, which any cache may serve.

const LOOK_MS = 20_000;
// Readers vary their interval by so much to each side.
const JITTER = 0.25;

/** Calls `reopen` once the queue lets visitors enter. Returns a function that ends this. */
export function watchForReopening(queue: string, reopen: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  let isEnded = false;
  const look = async () => {
    const isOpen = await readEntrance(queue).catch(() => false);
    if (isEnded) return;
    if (isOpen) reopen();
    else schedule();
  };
  const schedule = () => {
    timer = setTimeout(() => void look(), LOOK_MS * (1 + JITTER * (2 * Math.random() - 1)));
  };
  schedule();
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}

async function readEntrance(queue: string): Promise<boolean> {
  const response = await fetch(`/queues/${encodeURIComponent(queue)}`, { credentials: "omit" });
  return (await response.json()).entrance === "open";
}
