import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, usd } from "../format.ts";
import { amountTicks, timeTicks } from "./axes.ts";
import { DASHES } from "./line_sample.tsx";
import type { Metric, Series } from "./range.ts";

interface ChartProps {
  series: Series;
  names: readonly string[];
  metric: Metric;
  /** What is to be seen, for those who do not. */
  label: string;
}

/** In pixels; the plot is inside, the words of the axes left of it and below. */
const HEIGHT = 260;
const LEFT = 64;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 28;
/** Room for the name of a time. */
const WORD = 88;
/** As wide as such a name; one that begins nearer to the end would leave the page. */
const NAME = 56;

/** Bars over time, those of a time on each other, told apart by their dashes as by their colours. */
export function Chart({ series, names, metric, label }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const resized = new ResizeObserver(([{ contentRect }]) => setWidth(contentRect.width));
    resized.observe(box.current!);
    return () => resized.disconnect();
  }, []);
  return (
    <div ref={box} class="chart" role="img" aria-label={label}>
      {width > LEFT + RIGHT && <Plot series={series} names={names} metric={metric} width={width} />}
    </div>
  );
}

interface PlotProps extends Omit<ChartProps, "label"> {
  /** In pixels. */
  width: number;
}

function Plot({ series: { times, values }, names, metric, width }: PlotProps) {
  const sums = times.map((_, index) => values.reduce((sum, line) => sum + line[index], 0));
  const amounts = amountTicks(Math.max(...sums));
  const bucket_px = (width - LEFT - RIGHT) / times.length;
  const x = (index: number) => LEFT + index * bucket_px;
  const y = (amount: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - amount / amounts.at(-1)!);
  const wordOf = metric === "usd" ? usd : count;
  return (
    <svg viewBox={`0 0 ${width} ${HEIGHT}`}>
      {amounts.map((amount) => (
        <g key={amount}>
          <path class="chart-grid" d={`M${LEFT} ${y(amount)}H${width - RIGHT}`} />
          <text x={LEFT - 8} y={y(amount)} text-anchor="end" dominant-baseline="middle">
            {wordOf(amount)}
          </text>
        </g>
      ))}
      {timeTicks(times, Math.floor((width - LEFT - RIGHT) / WORD)).map(({ index, word }) => (
        x(index) > width - NAME
          ? <text key={index} x={width} y={HEIGHT - 8} text-anchor="end">{word}</text>
          : <text key={index} x={x(index)} y={HEIGHT - 8}>{word}</text>
      ))}
      {values.map((line, n) => {
        const bars = line.map((amount, index) => {
          const below = values.slice(0, n).reduce((sum, it) => sum + it[index], 0);
          // What is little beside the most is there too.
          const top = Math.min(y(below + amount), y(below) - 1);
          return amount > 0 ? `M${x(index + 0.5)} ${y(below)}V${top}` : "";
        }).join("");
        // Each bar is a broad line; below its dashes it is there in a lighter tone.
        return (
          <g key={n} class={`chart-bars plot-${n + 1}`} stroke-width={Math.max(1, bucket_px * 0.8)}>
            <title>{names[n]}</title>
            <path class="chart-under" d={bars} />
            <path stroke-dasharray={DASHES[n].join(" ")} d={bars} />
          </g>
        );
      })}
    </svg>
  );
}
