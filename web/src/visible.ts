/**
 * Everything that is drawn is visible: what a model, a tool or a repository hides in a text is written
 * out before it gets into the page. Here and nowhere else, so that no view can forget it.
 */
import { options, type VNode } from "preact";
import { visible } from "../../src/base/visible.ts";

/** What of an element is read to people, or shown to them. */
const SPOKEN = ["title", "aria-label", "aria-description", "aria-valuetext", "alt", "placeholder"];

/** Has all that is drawn from now on written out. */
export function keepVisible(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    before?.(vnode);
    // A text has no type, and itself in the place of its properties.
    if (vnode.type === null) writeOut(vnode as unknown as { props: unknown });
    else if (typeof vnode.type === "string") writeOutSpoken(vnode);
  };
}

function writeOut(text: { props: unknown }): void {
  if (typeof text.props === "string") text.props = visible(text.props);
}

function writeOutSpoken({ props }: VNode): void {
  const spoken = props as Record<string, unknown>;
  for (const name of SPOKEN) {
    const value = spoken[name];
    if (typeof value === "string") spoken[name] = visible(value);
  }
}
