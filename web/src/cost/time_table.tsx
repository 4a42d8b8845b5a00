import { costText, count, fullTime } from "../format.ts";
import type { Metric, Series } from "./range.ts";

interface TimeTableProps {
  series: Series;
  names: readonly string[];
  metric: Metric;
  label: string;
}

/** What the plot shows, in figures; times in which nothing was spent are left out. */
export function TimeTable(
  { series: { times, values, unknown }, names, metric, label }: TimeTableProps,
) {
  const rows = times.map((time, n) => ({
    time,
    amounts: values.map((line, group) => ({ amount: line[n], is_unknown: unknown[group][n] })),
  }))
    .filter(({ amounts }) => amounts.some((it) => it.amount > 0 || it.is_unknown))
    .reverse();
  return (
    <div class="table-box" tabIndex={0} role="group" aria-label={label}>
      <table class="data-table">
        <caption class="visually-hidden">{label}, the newest first</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            {names.map((name, n) => <th key={n} scope="col" class="number">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ time, amounts }) => (
            <tr key={time}>
              <th scope="row">{fullTime(new Date(time * 1000).toISOString())}</th>
              {amounts.map(({ amount, is_unknown }, n) => (
                <td key={n} class="number">
                  {metric === "usd"
                    ? costText({ cost_usd: amount, unpriced: is_unknown || undefined })
                    : count(amount)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
