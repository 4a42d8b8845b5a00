import { assert, assertEquals, assertThrows } from "@std/assert";
import { type GraphNode, layoutGraph } from "./graph_layout.ts";

const SIZES = { width: 100, height: 40, column_gap: 50, row_gap: 10 };

function graph(nodes: Record<string, string[]>): GraphNode[] {
  return Object.entries(nodes).map(([id, after]) => ({ id, after }));
}

function place(nodes: Record<string, string[]>) {
  const layout = layoutGraph(graph(nodes), SIZES);
  return { ...layout, by_id: new Map(layout.nodes.map((node) => [node.id, node])) };
}

Deno.test("a node stands one layer behind the last of those that it comes after", () => {
  const { by_id, width } = place({ a: [], b: ["a"], c: ["b"], d: ["a", "c"], e: [] });
  const layers = [...by_id].map(([id, { layer }]) => `${id}${layer}`).sort();
  assertEquals(layers, ["a0", "b1", "c2", "d3", "e0"]);
  assertEquals(by_id.get("c")!.x, 2 * (100 + 50));
  assertEquals(width, 4 * 100 + 3 * 50);
});

Deno.test("nodes of a layer do not overlap, and none lies outside", () => {
  const after = (n: number) => Array.from({ length: n % 4 }, (_, k) => `n${(n * 7 + k * 3) % n}`);
  const nodes = Object.fromEntries(
    Array.from({ length: 60 }, (_, n) => [`n${n}`, n === 0 ? [] : after(n)]),
  );
  const { nodes: placed, width, height } = place(nodes);
  assertEquals(placed.length, 60);
  for (const [n, a] of placed.entries()) {
    assert(a.x >= 0 && a.y >= 0 && a.x + 100 <= width && a.y + 40 <= height, JSON.stringify(a));
    for (const b of placed.slice(n + 1)) {
      assert(a.layer !== b.layer || Math.abs(a.y - b.y) >= 50, `${a.id} and ${b.id}`);
    }
  }
});

Deno.test("a layer is ordered as what it comes after, so that edges do not cross", () => {
  const { by_id } = place({ a: [], b: [], c: [], z: ["a"], y: ["b"], x: ["c"] });
  assert(by_id.get("z")!.y < by_id.get("y")!.y && by_id.get("y")!.y < by_id.get("x")!.y);
  const crossed = place({ a: [], b: [], x: ["b"], y: ["a"] }).by_id;
  assertEquals(
    crossed.get("a")!.y < crossed.get("b")!.y,
    crossed.get("y")!.y < crossed.get("x")!.y,
  );
});

Deno.test("an edge leads from the side of its node to that of the other, around what lies between", () => {
  const { by_id, edges } = place({ a: [], b: ["a"], c: ["a", "b"] });
  assertEquals(edges.map(({ from, to }) => from + to), ["ab", "ac", "bc"]);
  const long = edges[1].path;
  assert(long.startsWith("M100 "));
  assert(long.endsWith(`${by_id.get("c")!.x} ${by_id.get("c")!.y + 20}`), long);
  // Where it passes b, it is above or below it.
  const [, y] = /([\d.]+)H250/.exec(long)!;
  const { y: top } = by_id.get("b")!;
  assert(Number(y) < top || Number(y) > top + 40, long);
});

Deno.test("what is not there is left out, an edge that is told twice is one", () => {
  const { by_id, edges } = place({ a: ["gone"], b: ["a", "a"] });
  assertEquals(by_id.get("a")!.layer, 0);
  assertEquals(edges.length, 1);
  assertEquals(layoutGraph([], SIZES), { width: 0, height: 0, nodes: [], edges: [] });
});

Deno.test("a cycle is refused", () => {
  assertThrows(() => place({ a: ["b"], b: ["a"] }), Error, "comes after itself");
});
