// Calls the visitor when the turn has come: by sound, notification and vibration. The switch on the page is the gesture
// that permits the sound.

import { readStored, writeStored } from "../../client/src/stored.js";

const STORED = "vestibule:alert";
const RINGS = 3;
const RING_PAUSE_MS = 6_000;
const VIBRATION_MS = [200, 100, 200];
// Two tones in hertz, each with its start and length in seconds.
const TONES = [
  [659, 0],
  [880, 0.18],
] as const;
const TONE_S = 0.5;
const LOUDNESS = 0.25;

// Some browsers have no notifications.
const isPermission = (value: NotificationPermission): boolean => globalThis.Notification?.permission === value;

/** The alert of one page. */
export class TurnAlert {
  #audio: AudioContext | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Whether the visitor wants to be called. */
  isOn = readStored(STORED) === "on";

  constructor() {
    // After a reload the sound needs a gesture again.
    for (const name of ["pointerdown", "keydown"]) addEventListener(name, () => this.isOn && this.#unlock(), { capture: true });
  }

  /** The key of the sentence beside the switch, which says what the alert can do. */
  get key(): string {
    return isPermission("granted") || (isPermission("default") && !this.isOn) ? "alert" : "alertSound";
  }

  /** The visitor used the switch. */
  turn(isOn: boolean): void {
    this.isOn = isOn;
    writeStored(STORED, isOn ? "on" : "");
    if (!isOn) return this.stop();
    this.#unlock();
    if (isPermission("default")) void Notification.requestPermission();
  }

  /** Calls the visitor. */
  call(title: string, body: string, { lang, dir }: HTMLElement): void {
    if (!this.isOn) return;
    this.stop();
    this.#ring(RINGS);
    try {
      const options: NotificationOptions = { body, lang, dir: dir as NotificationDirection, tag: "turn" };
      if (!isPermission("granted")) return;
      const notification = new Notification(title, options);
      notification.onclick = () => {
        focus();
        notification.close();
      };
    } catch {
      // Some phones allow notifications only to service workers.
    }
  }

  /** Ends a call. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #unlock(): void {
    this.#audio ??= globalThis.AudioContext && new AudioContext();
    void this.#audio?.resume();
  }

  #ring(count: number): void {
    navigator.vibrate?.(VIBRATION_MS);
    const audio = this.#audio;
    for (const [frequency, atS] of audio ? TONES : []) {
      const [oscillator, gain] = [audio!.createOscillator(), audio!.createGain()];
      const fromS = audio!.currentTime + atS;
      oscillator.frequency.value = frequency;
      gain.gain.setValueAtTime(LOUDNESS, fromS);
      gain.gain.exponentialRampToValueAtTime(0.001, fromS + TONE_S);
      oscillator.connect(gain).connect(audio!.destination);
      // Quoted, because the library shortens a member of this name.
      oscillator["start"](fromS);
      oscillator.stop(fromS + TONE_S);
    }
    if (count > 1) this.#timer = setTimeout(() => this.#ring(count - 1), RING_PAUSE_MS);
  }
}
