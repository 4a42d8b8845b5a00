/** What is said to screen readers, and errors, which are also shown. */
import { signal } from "@preact/signals";
import { visible } from "../../src/base/visible.ts";

/** An error stays in sight this long, unless it is dismissed. */
const ALERT_MS = 12_000;

export interface Alert {
  id: number;
  text: string;
}

export class Announcer {
  /** Said when the reader has finished what it says. */
  readonly polite = signal("");
  /** Said at once, and shown. */
  readonly alerts = signal<readonly Alert[]>([]);
  #next_id = 1;

  say(text: string): void {
    const shown = visible(text);
    // The same text twice is announced twice only if it changes in between.
    this.polite.value = this.polite.peek() === shown ? `${shown}\u00a0` : shown;
  }

  alert(text: string): void {
    const id = this.#next_id++;
    this.alerts.value = [...this.alerts.peek().filter((it) => it.text !== text), { id, text }];
    setTimeout(() => this.dismiss(id), ALERT_MS);
  }

  dismiss(id: number): void {
    this.alerts.value = this.alerts.peek().filter((it) => it.id !== id);
  }
}
