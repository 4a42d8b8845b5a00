import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { visible } from "../../../src/base/visible.ts";
import { useApp } from "../app.ts";

const load = () => import("../session/formula.ts");

interface FormulaProps {
  /** As it was written: shown until it is drawn, and where it cannot be. */
  raw: string;
  tex: string;
  block: boolean;
}

/** A formula; the code that draws it comes with the first one. */
export function Formula({ raw, tex, block }: FormulaProps) {
  const app = useApp();
  const box = useRef<HTMLSpanElement>(null);
  const drawn = useSignal(false);
  useLayoutEffect(() => {
    let gone = false;
    drawn.value = false;
    app.load(load).then(({ draw }) => {
      if (gone) return;
      // What is hidden in it would be hidden in what is drawn.
      draw(box.current!, visible(tex), block);
      drawn.value = true;
    }).catch(() => {});
    return () => gone = true;
  }, [tex, block]);
  return (
    <span
      class={block ? "md-formula" : undefined}
      {...block && { tabIndex: 0, role: "group", "aria-label": "Formula" }}
    >
      <span ref={box} hidden={!drawn.value} />
      {!drawn.value && <code>{raw}</code>}
    </span>
  );
}
