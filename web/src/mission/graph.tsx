import { STATUS } from "../missions/status_chip.tsx";
import { layoutGraph } from "./graph_layout.ts";
import type { Step } from "./steps.ts";

const SIZES = { width: 168, height: 48, column_gap: 44, row_gap: 14 };

/** The steps drawn as a graph; for readers it is a list of links that tell what comes before. */
export function Graph({ steps }: { steps: readonly Step[] }) {
  const { width, height, nodes, edges } = layoutGraph(steps, SIZES);
  const by_id = new Map(steps.map((step) => [step.id, step]));
  return (
    <div class="graph" role="group" aria-label="Task graph" tabIndex={0}>
      <div class="graph-canvas" style={{ inlineSize: `${width}px`, blockSize: `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true" focusable="false">
          {edges.map(({ from, to, path }) => (
            <path key={`${from}\n${to}`} class={STATUS[by_id.get(from)!.status].tone} d={path} />
          ))}
        </svg>
        <ul>
          {nodes.map(({ id, x, y }) => (
            <li
              key={id}
              style={{
                insetInlineStart: `${x}px`,
                insetBlockStart: `${y}px`,
                inlineSize: `${SIZES.width}px`,
                blockSize: `${SIZES.height}px`,
              }}
            >
              <Node step={by_id.get(id)!} by_id={by_id} />
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function Node({ step, by_id }: { step: Step; by_id: ReadonlyMap<string, Step> }) {
  const { label, status, detail, target, after } = step;
  const { tone, word } = STATUS[status];
  const before = after.map((id) => by_id.get(id)?.label).filter((it) => it !== undefined);
  return (
    <a class={`graph-node ${tone}`} href={`#${target}`} title={label}>
      <span class={`dot ${tone}`} aria-hidden="true" />
      <span class="graph-label clip">{label}</span>
      <span class="graph-status">{[word, detail].filter(Boolean).join(" · ")}</span>
      {before.length > 0 && <span class="visually-hidden">after {before.join(", ")}</span>}
    </a>
  );
}
