import { count, usd } from "../format.ts";
import { LINES_MAX, LineSample } from "./line_sample.tsx";
import type { Breakdown, Group } from "./range.ts";

/** What each session or model cost, the dearest first; the lines of the plot have their samples here. */
export function GroupTable({ breakdown: { groups, other } }: { breakdown: Breakdown }) {
  const of_sessions = groups.some(({ title }) => title !== undefined);
  return (
    <section class="panel" aria-labelledby="groups-heading">
      <h2 id="groups-heading">{of_sessions ? "Sessions" : "Models"}</h2>
      <table class="data-table group-table">
        <caption class="visually-hidden">Cost of each, most expensive first</caption>
        <thead>
          <tr>
            <th scope="col">{of_sessions ? "Session" : "Model"}</th>
            <th scope="col" class="number">Cost</th>
            <th scope="col" class="number">Tokens in</th>
            <th scope="col" class="number cached-cell">Cached</th>
            <th scope="col" class="number">Tokens out</th>
          </tr>
        </thead>
        <tbody>
          {groups.map((group, n) => (
            <tr key={group.key}>
              <th scope="row">
                <span class="group-name">
                  {n < LINES_MAX && <LineSample n={n} />}
                  <Name group={group} />
                </span>
              </th>
              <Amounts {...group} />
            </tr>
          ))}
          {other && (
            <tr>
              <th scope="row">All others</th>
              <Amounts {...other} />
            </tr>
          )}
        </tbody>
      </table>
    </section>
  );
}

function Name({ group: { key, title } }: { group: Group }) {
  if (title === undefined) return <span class="clip" title={key}>{key}</span>;
  return <a class="clip" href={`/sessions/${key}`} title={title}>{title}</a>;
}

function Amounts(spent: Breakdown["total"]) {
  return (
    <>
      <td class="number">{usd(spent.usd)}</td>
      <td class="number">{count(spent.tokens_in)}</td>
      <td class="number cached-cell">{count(spent.tokens_cached)}</td>
      <td class="number">{count(spent.tokens_out)}</td>
    </>
  );
}
