/** Draws formulas of TeX as MathML, which browsers lay out by themselves. Loaded with the first one. */
import katex from "katex";

/** Macros that a formula may use: each could make the next longer. */
const EXPANDED_MAX = 200;
/** Lengths that a formula may ask for, in em. */
const SIZE_MAX = 20;

/** Draws into an element what the package makes of it, node by node. @throws {Error} for wrong TeX. */
export function draw(into: HTMLElement, tex: string, block: boolean): void {
  katex.render(tex, into, {
    output: "mathml",
    displayMode: block,
    throwOnError: true,
    strict: "ignore",
    // No links, images or attributes of the page.
    trust: false,
    maxExpand: EXPANDED_MAX,
    maxSize: SIZE_MAX,
  });
}
