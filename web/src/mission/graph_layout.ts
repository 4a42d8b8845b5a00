/**
 * Places the nodes of a directed acyclic graph in layers, left to right: a node stands one layer
 * behind the last of those that it comes after. An edge over several layers takes a place in each of
 * them, so that it leads between the nodes.
 */

/** A node, and the ids of those that it comes after. */
export interface GraphNode {
  id: string;
  after: readonly string[];
}

/** Sizes in pixels. */
export interface GraphSizes {
  width: number;
  height: number;
  /** Between two layers. */
  column_gap: number;
  /** Between two nodes of a layer. */
  row_gap: number;
}

export interface Placed {
  id: string;
  /** From 0. */
  layer: number;
  x: number;
  y: number;
}

export interface Edge {
  from: string;
  to: string;
  /** Its way, as a `d` of SVG. */
  path: string;
}

export interface GraphLayout {
  width: number;
  height: number;
  /** Layer by layer, from top to bottom. */
  nodes: Placed[];
  edges: Edge[];
}

/** A place in a layer: a node's, or of an edge on its way. */
interface Slot {
  /** Of the node. */
  id?: string;
  before: Slot[];
  /** Its place in the layer while layers are ordered. */
  order: number;
  y: number;
}

/** Height of an edge's place, in parts of a node's. */
const WAY = 0.4;
const SWEEPS = 4;

/** Lays out a graph; edges from nodes that are not there are left out. @throws {Error} on a cycle. */
export function layoutGraph(nodes: readonly GraphNode[], sizes: GraphSizes): GraphLayout {
  const layer_of = layersOf(nodes);
  const { layers, ways } = slotsOf(nodes, layer_of);
  order(layers);
  const highest = stack(layers, sizes);
  const { width, column_gap } = sizes;
  const step = width + column_gap;
  return {
    width: Math.max(0, layers.length * step - column_gap),
    height: highest,
    nodes: layers.flatMap((slots, layer) =>
      slots.flatMap(({ id, y }): Placed[] =>
        id === undefined ? [] : [{ id, layer, x: layer * step, y }]
      )
    ),
    edges: ways.map(({ from, to, slots }) => ({
      from,
      to,
      path: pathOf(slots, layer_of.get(from)! * step, sizes),
    })),
  };
}

/** The way through some slots, of which the first stands at `x`. */
function pathOf(slots: readonly Slot[], x: number, sizes: GraphSizes): string {
  const { width, height, column_gap } = sizes;
  const middles = slots.map((slot) => slot.y + heightOf(slot, height) / 2);
  let path = "";
  for (const [n, y] of middles.slice(0, -1).entries()) {
    const left = x + width;
    const right = left + column_gap;
    const bend = (left + right) / 2;
    path += n === 0 ? `M${left} ${y}` : `H${left}`;
    path += `C${bend} ${y} ${bend} ${middles[n + 1]} ${right} ${middles[n + 1]}`;
    x = right;
  }
  return path;
}

/** The layer of each node: the longest way to it. */
function layersOf(nodes: readonly GraphNode[]): Map<string, number> {
  const followers = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  const waiting = new Map<string, number>();
  for (const { id, after } of nodes) {
    const before = [...new Set(after)].filter((other) => followers.has(other));
    for (const other of before) followers.get(other)!.push(id);
    waiting.set(id, before.length);
  }
  const layers = new Map<string, number>();
  const ready = nodes.map(({ id }) => id).filter((id) => waiting.get(id) === 0);
  for (const id of ready) layers.set(id, 0);
  // What becomes ready on the way is visited, too.
  for (const id of ready) {
    for (const follower of followers.get(id)!) {
      layers.set(follower, Math.max(layers.get(follower) ?? 0, layers.get(id)! + 1));
      waiting.set(follower, waiting.get(follower)! - 1);
      if (waiting.get(follower) === 0) ready.push(follower);
    }
  }
  const stuck = nodes.find(({ id }) => waiting.get(id)! > 0);
  if (stuck !== undefined) throw new Error(`${stuck.id} comes after itself`);
  return layers;
}

interface Way {
  from: string;
  to: string;
  /** From the slot of the one to that of the other. */
  slots: Slot[];
}

function slotsOf(
  nodes: readonly GraphNode[],
  layer_of: ReadonlyMap<string, number>,
): { layers: Slot[][]; ways: Way[] } {
  const layers: Slot[][] = [];
  const slots = new Map<string, Slot>();
  const add = (layer: number, slot: Slot) => {
    while (layers.length <= layer) layers.push([]);
    slot.order = layers[layer].push(slot) - 1;
    return slot;
  };
  for (const { id } of nodes) {
    slots.set(id, add(layer_of.get(id)!, { id, before: [], order: 0, y: 0 }));
  }
  const ways: Way[] = [];
  for (const { id: to, after } of nodes) {
    for (const from of new Set(after)) {
      if (!slots.has(from)) continue;
      const way = [slots.get(from)!];
      for (let layer = layer_of.get(from)! + 1; layer < layer_of.get(to)!; layer++) {
        way.push(add(layer, { before: [way.at(-1)!], order: 0, y: 0 }));
      }
      const end = slots.get(to)!;
      end.before.push(way.at(-1)!);
      ways.push({ from, to, slots: [...way, end] });
    }
  }
  return { layers, ways };
}

/** Orders each layer by where its neighbours stand, forth and back: fewer edges cross then. */
function order(layers: Slot[][]): void {
  const after = new Map<Slot, Slot[]>();
  for (const slot of layers.flat()) {
    for (const before of slot.before) after.set(before, [...after.get(before) ?? [], slot]);
  }
  const sort = (slots: Slot[], neighbours: (slot: Slot) => readonly Slot[]) => {
    const weight = new Map(slots.map((slot) => [slot, mean(neighbours(slot)) ?? slot.order]));
    slots.sort((a, b) => weight.get(a)! - weight.get(b)! || a.order - b.order);
    slots.forEach((slot, n) => slot.order = n);
  };
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const slots of layers.slice(1)) sort(slots, ({ before }) => before);
    for (const slots of layers.slice(0, -1).reverse()) sort(slots, (it) => after.get(it) ?? []);
  }
  for (const slots of layers.slice(1)) sort(slots, ({ before }) => before);
}

function mean(slots: readonly Slot[]): number | undefined {
  if (slots.length === 0) return undefined;
  return slots.reduce((sum, slot) => sum + slot.order, 0) / slots.length;
}

/** Gives each slot its `y`, each layer being centred. @returns the height of the highest layer. */
function stack(layers: readonly Slot[][], { height, row_gap }: GraphSizes): number {
  const heights = layers.map((slots) =>
    slots.reduce((sum, slot) => sum + heightOf(slot, height) + row_gap, -row_gap)
  );
  const highest = Math.max(0, ...heights);
  for (const [n, slots] of layers.entries()) {
    let y = (highest - heights[n]) / 2;
    for (const slot of slots) {
      slot.y = y;
      y += heightOf(slot, height) + row_gap;
    }
  }
  return highest;
}

function heightOf({ id }: Slot, height: number): number {
  return id === undefined ? height * WAY : height;
}
