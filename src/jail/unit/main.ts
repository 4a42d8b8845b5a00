/**
 * The entry point of a jailed unit: a worker that runs a model's file tools. It has no file
 * permissions; the kernel keeps each call below its working directory. If the kernel cannot, the
 * unit may read and write one working directory and serves only that one.
 */
import { chooseRooted, kernelRooted, type Rooted, RootedError } from "../rooted.ts";
import { collectGarbage } from "../../os/memory.ts";
import { browse, preview } from "./browse.ts";
import { applyPatch, editFile, readWholeText, writeFile } from "./edits.ts";
import { listDir, type OpContext, readFile, stat } from "./files.ts";
import { find } from "./find.ts";
import { locate } from "./locate.ts";
import { Pace } from "./pace.ts";
import {
  type OpOutcome,
  UnitArgs,
  UnitError,
  type UnitOp,
  type UnitRequest,
  type UnitResponse,
  type UnitResult,
} from "./protocol.ts";
import { glob, grep } from "./search.ts";

/** Used parts of a worker's global scope; the library's types describe a window. */
interface UnitScope {
  onmessage: ((event: MessageEvent<UnitRequest>) => void) | null;
  postMessage(message: UnitResponse): void;
}

const OPERATIONS: Record<
  UnitOp,
  (context: OpContext, args: UnitArgs) => string | OpOutcome | Promise<string | OpOutcome>
> = {
  stat,
  locate,
  read_file: readFile,
  read_text: readWholeText,
  write_file: writeFile,
  edit_file: editFile,
  apply_patch: applyPatch,
  list_dir: listDir,
  browse,
  preview,
  glob,
  grep,
  find,
};

/** Returns undefined for a directory that this unit does not serve. */
type OpenRooted = (workdir: string) => Rooted | undefined;

function serve(scope: UnitScope): void {
  let open: OpenRooted | undefined;
  let home: string | undefined;
  const running = new Map<number, AbortController>();

  async function call(request: UnitRequest & { type: "call" }): Promise<void> {
    const controller = new AbortController();
    running.set(request.id, controller);
    const result = await run(open?.(request.workdir), { ...request, home }, controller.signal);
    running.delete(request.id);
    scope.postMessage({ type: "result", id: request.id, ...result });
  }

  scope.onmessage = ({ data }) => {
    switch (data.type) {
      case "start":
        home = data.home;
        open = data.workdir === undefined ? kernelRooted() : only(data.workdir);
        // The C library is open by now. Nothing can load another one afterwards.
        Deno.permissions.revokeSync({ name: "ffi" });
        scope.postMessage({ type: "ready", roams: data.workdir === undefined && !!open });
        break;
      case "call":
        void call(data);
        break;
      case "cancel":
        running.get(data.id)?.abort();
        break;
      case "rest":
        collectGarbage();
        scope.postMessage({ type: "rested" });
    }
  };
}

function only(directory: string): OpenRooted {
  const rooted = chooseRooted(directory);
  return (workdir) => workdir === directory ? rooted : undefined;
}

async function run(
  rooted: Rooted | undefined,
  { op, args, workdir, hidden, prefix, home }: UnitRequest & { type: "call" } & { home?: string },
  signal: AbortSignal,
): Promise<UnitResult> {
  try {
    if (rooted === undefined) throw new Error("this unit serves another directory");
    const values = new UnitArgs(args);
    const context = {
      fs: rooted.view(hidden),
      workdir,
      prefix,
      home,
      leads: values.leads(),
      pace: new Pace(signal),
    };
    const outcome = await OPERATIONS[op](context, values);
    return { ok: true, ...(typeof outcome === "string" ? { output: outcome } : outcome) };
  } catch (error) {
    if (error instanceof UnitError) {
      return { ok: false, output: error.message, changed: error.changed };
    }
    if (error instanceof RootedError) return { ok: false, output: error.message };
    return { ok: false, output: `${op} failed: ${error}` };
  }
}

serve(globalThis as unknown as UnitScope);
