/** The daemon stops, and the next one goes on with the work. */
export class Leaving extends Error {
  override name = "Leaving";
  /** How long a step of the work may take to its end. */
  readonly grace_ms: number;

  constructor(grace_ms: number) {
    super("the daemon stopped");
    this.grace_ms = grace_ms;
  }
}
