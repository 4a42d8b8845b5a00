/**
 * Text that the model says again, after a retry or with the next daemon. An editor keeps what it was
 * told, so it is not told that part twice.
 */
export class RepeatedText {
  /** What the editor was told of the text that is void. */
  #told = "";
  /** How much of that the model has said again. */
  #again = "";

  /** Text was told that is void: the model says it again. */
  expect(told: string): void {
    // Cut off again before it was as long as the first time.
    if (!this.#told.startsWith(told)) this.#told = told;
    this.#again = "";
  }

  /** Another text begins. */
  begin(): void {
    if (this.#again !== "") this.#forget();
  }

  /** Returns what is new in a piece of text; all of it, on a line of its own, if it differs. */
  take(text: string): string {
    if (this.#told === "") return text;
    this.#again += text;
    if (this.#told.startsWith(this.#again)) return "";
    const [told, again] = [this.#told, this.#again];
    this.#forget();
    return again.startsWith(told) ? again.slice(told.length) : `\n\n${again}`;
  }

  #forget(): void {
    this.#told = this.#again = "";
  }
}
