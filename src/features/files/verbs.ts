import * as z from "zod";
import type { UnitOp, UnitPool, UnitResult } from "../../jail/unit/pool.ts";
import { SvcError } from "../../protocol/errors.ts";
import {
  type Browsed,
  browsedSchema,
  type Found,
  foundSchema,
  type Previewed,
  previewedSchema,
} from "../../protocol/schemas/files.ts";
import { type Context, verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import { place, type PlaceServices, workdirOf } from "../../verbs/workdir.ts";

interface FilesServices extends PlaceServices {
  /** Loaded on first use. */
  units(): Promise<UnitPool>;
  /** Absolute real paths in a working directory that are not shown. */
  hidden(workdir: string): readonly string[];
}

const defineVerb = verbsOf<FilesServices>();

const path = () =>
  z.string().min(1).max(4_096).describe("Relative to the session's directory, or inside it");

export const filesVerbs = [
  defineVerb({
    name: "files.list",
    summary: "Lists a directory of a session's files, without what its tools may not see.",
    access: "read",
    large: true,
    input: () => z.object({ session_id: session_id(), path: path().default(".") }),
    output: browsedSchema,
    async handle(context, { session_id, path }) {
      const { output } = await inJail(context, { session_id }, "browse", { path });
      return JSON.parse(output) as Browsed;
    },
  }),
  defineVerb({
    name: "files.read",
    summary: "Shows a text or an image of a session's files.",
    access: "read",
    large: true,
    input: () => z.object({ session_id: session_id(), path: path() }),
    output: previewedSchema,
    async handle(context, { session_id, path }) {
      const { output, media } = await inJail(context, { session_id }, "preview", { path });
      const data = media?.[0].data.toBase64();
      return { ...JSON.parse(output) as Previewed, data };
    },
  }),
  defineVerb({
    name: "files.find",
    summary: "Finds files and directories below a directory by parts of their names, best first.",
    access: "read",
    input: () =>
      z.object({
        ...place(),
        query: z.string().max(500).describe("Words; of each, characters of the path in order"),
        limit: z.int().min(1).max(200).default(20),
      }),
    output: foundSchema,
    async handle(context, { query, limit, ...at }) {
      const { output } = await inJail(context, at, "find", { query, limit });
      return JSON.parse(output) as Found;
    },
  }),
];

/** @throws {SvcError} validation for what cannot be read */
async function inJail(
  context: Context<FilesServices>,
  at: { session_id?: string; workdir?: string },
  op: UnitOp,
  args: Record<string, unknown>,
): Promise<UnitResult> {
  const { services, signal } = context;
  const workdir = await workdirOf(context, at);
  const { session_id = "" } = at;
  const scope = { session_id, workdir, hidden: services.hidden(workdir) };
  const result = await (await services.units()).call(op, args, scope, signal);
  if (!result.ok) throw new SvcError("validation", result.output);
  return result;
}
