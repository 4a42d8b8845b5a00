/** The forms in which `svc chat -p` prints what happens. */
import type { EventParams } from "../client/rpc.ts";
import { writeAll } from "../base/write_all.ts";
import { visibleJson } from "../base/visible.ts";
import type { ThemeName } from "../protocol/themes.ts";
import { MODEL_RETRY, type SessionEvent } from "../protocol/events.ts";
import { type Change, View } from "../session/view.ts";
import type { Line } from "./chat_lines.ts";
import { changeLines, ModelText, painter } from "./chat_render.ts";
import { named } from "./own_name.ts";
import { withNames } from "../models/toolbelt.ts";

/** The values of `--output`, and `events` for `--json`. */
export type Form = "text" | "json" | "stream-json" | "events";

export interface Face {
  /** Whether it shows the notes of a session. */
  notes?: true;
  /** Takes the person's theme. */
  useTheme?(name: ThemeName): void;
  event?(event: EventParams): void;
  line?(line: Line): void;
}

/** Standard output, written in order and asynchronously: a slow reader does not delay signals. */
export class Output {
  readonly #gone = Promise.withResolvers<void>();
  /** Resolves when the reader has left. */
  readonly closed: Promise<void> = this.#gone.promise;
  #closed = false;
  #writing: Promise<void> = Promise.resolve();

  write(text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.#writing = this.#writing.then(async () => {
      if (this.#closed) return;
      try {
        await writeAll(Deno.stdout, bytes);
      } catch {
        this.#closed = true;
        this.#gone.resolve();
      }
    });
  }

  /** Waits until everything is written. @returns whether the reader took all of it. */
  async flush(): Promise<boolean> {
    await this.#writing;
    return !this.#closed;
  }
}

/** Creates the face of a form. @param only_result whether text prints only a valid answer. */
export function faceOf(form: Form, output: Output, only_result: boolean): Face {
  const print = (value: unknown) => output.write(`${visibleJson(JSON.stringify(value))}\n`);
  switch (form) {
    case "events":
      return { event: ({ sub: _, ...event }) => print(event) };
    case "stream-json":
      return { line: print };
    case "json":
      return { line: (line) => line.type === "result" && print(line) };
    case "text":
      return only_result ? resultFace(output) : textFace(output);
  }
}

function textFace(output: Output): Face {
  // A pipe gets the text as the model wrote it.
  const live = Deno.stdout.isTerminal();
  const answer = new ModelText(live);
  let at_line_start = true;
  /** Whether the model may take back the last line. */
  let unsure = false;
  return {
    ...progress(),
    line(line) {
      if (live && line.type === "note" && line.reason_code === MODEL_RETRY && unsure) {
        output.write(
          `${at_line_start ? "" : "\n"}[what follows replaces the answer that broke off]\n`,
        );
        at_line_start = true;
      }
      unsure = line.type === "text" || line.type === "note" && unsure;
      if (line.type === "text") {
        output.write(answer.take(withNames(line.text, named)));
        at_line_start = line.text.endsWith("\n");
      } else if (line.type === "result" && !at_line_start) output.write("\n");
    },
  };
}

function resultFace(output: Output): Face {
  return {
    ...progress(),
    line(line) {
      if (line.type === "result" && line.stop_reason === "ok") {
        output.write(`${visibleJson(JSON.stringify(line.value, null, 2))}\n`);
      }
    },
  };
}

/** What a terminal shows beside the answer. */
function progress(): Face {
  if (!Deno.stderr.isTerminal()) return {};
  let paint = painter(Deno.stderr);
  const view = new View();
  return {
    notes: true,
    useTheme(name) {
      paint = painter(Deno.stderr, name);
    },
    event(event) {
      const changes = view.apply(event as unknown as SessionEvent);
      // The end is reported separately.
      for (const change of changes.filter((it) => !isEnd(it))) {
        for (const line of changeLines(change, paint)) console.error(line);
      }
    },
  };
}

function isEnd(change: Change): boolean {
  return change.type === "added" && change.item.kind === "note" && change.item.end !== undefined;
}
