/**
 * Writes the snapshot of the model catalogue that is built into the program, from a pinned version of
 * a package with the data of models.dev:
 *
 *   deno task catalogue
 *
 * A newer snapshot is a newer version below.
 */
import { dirname, fromFileUrl, join } from "@std/path";
import type { CatalogueData, ModelFacts } from "../src/models/catalogue.ts";
import { catalogueSchema } from "../src/models/catalogue_schema.ts";
import { EFFORTS } from "../src/protocol/effort.ts";

const PACKAGE = "@earendil-works/pi-ai";
const VERSION = "1.5.2";
const LICENSE = "MIT, by the contributors of models.dev and of the package";

/** Our names for the providers, and those of the package. */
const PROVIDERS: Readonly<Record<string, string>> = {
  anthropic: "anthropic",
  openai: "openai",
  google: "google",
  openrouter: "openrouter",
  azure: "azure",
  mistral: "mistral",
  xai: "xai",
  groq: "groq",
  deepseek: "deepseek",
  together: "together",
  fireworks: "fireworks",
};

/** A model as the package describes it; what it does not know is 0. */
interface Described {
  id: string;
  type: string;
  reasoning: boolean;
  input: string[];
  contextWindow: number;
  maxTokens: number;
  cost: Rates & { tiers?: (Rates & { inputTokensAbove: number })[] };
  /** Null: not supported. */
  thinkingLevelMap?: Record<string, string | null>;
}

interface Rates {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

const root = dirname(dirname(fromFileUrl(import.meta.url)));

async function main(): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await run("npm", ["pack", "--silent", `${PACKAGE}@${VERSION}`], dir);
    const [archive] = [...Deno.readDirSync(dir)].map(({ name }) => name);
    await run("tar", ["xzf", archive], dir);
    const catalogue = snapshot(join(dir, "package", "dist", "providers", "data"));
    catalogueSchema().parse(catalogue);
    const path = join(root, "src", "models", "catalogue_snapshot.json");
    await Deno.writeTextFile(path, `${lines(catalogue)}\n`);
    const count = Object.values(catalogue.providers)
      .reduce((sum, models) => sum + Object.keys(models).length, 0);
    console.log(`${count} models in ${path}`);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function run(program: string, args: string[], cwd: string): Promise<void> {
  const { success } = await new Deno.Command(program, { args, cwd }).spawn().status;
  if (!success) throw new Error(`${program} ${args.join(" ")} failed`);
}

function snapshot(dir: string): CatalogueData {
  const read = (name: string) => JSON.parse(Deno.readTextFileSync(join(dir, name)));
  const { generatedAt } = read(".manifest.json") as { generatedAt: string };
  const providers = Object.entries(PROVIDERS).map(([provider, name]) => {
    const by_api = read(`${name}.json`) as Record<string, Record<string, Described>>;
    const chat = Object.values(by_api).flatMap((models) => Object.values(models))
      .filter(({ type }) => type === "chat");
    const models = chat.map((model): [string, ModelFacts] => [model.id, factsOf(model)]);
    return [provider, Object.fromEntries(models.sort(([a], [b]) => a < b ? -1 : 1))];
  });
  return {
    source: `models.dev, as published in ${PACKAGE} ${VERSION}`,
    license: LICENSE,
    date: generatedAt.slice(0, 10),
    providers: Object.fromEntries(providers),
  };
}

function factsOf(model: Described): ModelFacts {
  const { id, reasoning, input, contextWindow, maxTokens, cost, thinkingLevelMap = {} } = model;
  const efforts = EFFORTS.filter((effort) => {
    const level = thinkingLevelMap[effort === "none" ? "off" : effort];
    // The highest one is there only where the package says so.
    return level !== null && (effort !== "xhigh" || level !== undefined);
  });
  const tier = cost.tiers?.[0];
  // A price of 0 is one that the package does not know, except where the name says so.
  const free = cost.input === 0 && cost.output === 0;
  return {
    ...(contextWindow > 0 ? { context_tokens: contextWindow } : {}),
    ...(maxTokens > 0 ? { output_tokens: maxTokens } : {}),
    images: input.includes("image"),
    efforts: reasoning ? efforts : [],
    ...(free && !id.endsWith(":free") ? {} : {
      price: {
        ...rates(cost),
        ...(tier && { long: { over: tier.inputTokensAbove, ...rates(tier) } }),
      },
    }),
  };
}

function rates({ input, output, cacheRead, cacheWrite }: Rates) {
  return { input, output, cache_read: cacheRead || input, cache_write: cacheWrite || input };
}

/** One line a model, so that a newer snapshot shows what it changes. */
function lines({ providers, ...about }: CatalogueData): string {
  const tables = Object.entries(providers).map(([provider, models]) => {
    const rows = Object.entries(models).map(([id, facts]) =>
      `${JSON.stringify(id)}:${JSON.stringify(facts)}`
    );
    return `${JSON.stringify(provider)}:{\n${rows.join(",\n")}\n}`;
  });
  return `${JSON.stringify(about).slice(0, -1)},"providers":{\n${tables.join(",\n")}\n}}`;
}

if (import.meta.main) await main();
