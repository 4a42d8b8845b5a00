/** `svc models`. */
import { visibleLine } from "../base/visible.ts";
import { connectIfAny } from "../client/connect.ts";
import { readConfig } from "../config/read.ts";
import { usableModels } from "../features/models/usable.ts";
import { SECTIONS } from "../features/registry.ts";
import type { Overview } from "../models/overview.ts";
import { print } from "./daemon_call.ts";
import { env, ownPaths } from "./environment.ts";
import { ownRegistry } from "./own_models.ts";
import type { Input } from "./spec.ts";
import { table } from "./table.ts";
import type { MODELS } from "./table/models.ts";
import { named } from "./own_name.ts";

const UNKNOWN = "unknown";

/** Runs `svc models`. */
export async function run({ flags, args }: Input<typeof MODELS>): Promise<number> {
  const found = await list(args.provider);
  if (flags.json) return print(found);
  console.log(modelTable(found));
  const { source, date, problem: unused } = found.catalogue;
  console.log(`\nlimits and prices: ${source}, ${date}`);
  if (unused !== undefined) console.log(visibleLine(`downloaded catalogue: ${unused}`));
  const others = found.providers.filter((it) => it.problem !== undefined);
  if (others.length > 0) console.log();
  for (const { provider, problem, hint } of others) {
    console.log(visibleLine(named(`${provider}: ${problem}${hint ? `; ${hint}` : ""}`)));
  }
  return 0;
}

/** Asks the running daemon; without one, finds what a new daemon would find. */
async function list(provider: string | undefined): Promise<Overview> {
  const paths = ownPaths();
  const rpc = await connectIfAny(paths);
  try {
    if (rpc !== undefined) return await rpc.call("models.list", { provider });
  } finally {
    rpc?.close();
  }
  const config = await readConfig(paths.config, SECTIONS);
  const { CatalogueFile } = await import("../models/catalogue_file.ts");
  const catalogue = await new CatalogueFile(paths.catalogue).get();
  const { signal } = new AbortController();
  return await usableModels(ownRegistry(config, env, paths, catalogue), config, catalogue, {
    ask: true,
    provider,
    signal,
  });
}

function modelTable({ models }: Overview): string {
  const count = (tokens: number | undefined) => tokens?.toLocaleString("en-US") ?? UNKNOWN;
  const usd = (price: number | undefined) => price === undefined ? UNKNOWN : `$${price}`;
  const rows = models.map((it) => [
    it.default ? `${it.id} (default)` : it.id,
    count(it.context_tokens),
    count(it.output_tokens),
    usd(it.price?.input),
    usd(it.price?.output),
    it.images ? "yes" : "no",
    it.efforts?.length === 0 ? "none" : it.efforts?.join(" ") ?? UNKNOWN,
  ]);
  const head = ["MODEL", "CONTEXT", "ANSWER", "INPUT/M", "OUTPUT/M", "IMAGES", "EFFORT"];
  return table([head, ...rows]);
}
