/** The options of a code task in `extra`. */
import { isAbsolute } from "@std/path";
import * as z from "zod";
import { criterion, type CriterionSpec } from "../../../missions/spec.ts";
import { SvcError } from "../../../../protocol/errors.ts";
import type { TaskRequest } from "../../task.ts";

const CRITERIA_MAX = 50;

export const CodeExtra = z.object({
  workdir: z.string().refine(isAbsolute, "must be an absolute path").optional()
    .describe("The directory to work in, unless repo is given"),
  repo: z.string().refine(
    (text) => isAbsolute(text) || /^https?:\/\/[^@\s]+$/.test(text),
    "must be an http or https URL without credentials, or an absolute path",
  ).optional().describe("The repository to clone and work in"),
  ref: z.string().regex(/^[A-Za-z0-9_][\w./+-]{0,200}$/, "must be a branch or a tag").optional(),
  model: z.string().optional(),
  budget_usd: z.number().positive().optional(),
  approval: z.enum(["auto", "ask"]).default("auto")
    .describe("Whether writes and commands need approval; of a hired task, nobody is asked"),
  acceptance_criteria: z.array(criterion).max(CRITERIA_MAX).default([]),
});

export type Place = { workdir: string } | { repo: string; ref?: string };

export interface CodeRequest {
  place: Place;
  model?: string;
  budget_usd?: number;
  approval: "auto" | "ask";
  criteria: CriterionSpec[];
  prompt: string;
}

/** Parses a request. @throws {SvcError} validation, naming the field. */
export function readCodeRequest({ description, query, extra = {} }: TaskRequest): CodeRequest {
  const parsed = CodeExtra.safeParse(extra);
  if (!parsed.success) {
    const [{ path, message }] = parsed.error.issues;
    throw new SvcError("validation", `extra.${path.join(".")}: ${message}`, {
      hint:
        "a code task takes workdir, or repo and ref; model, budget_usd, approval, acceptance_criteria",
    });
  }
  const { workdir, repo, ref, acceptance_criteria: criteria, ...rest } = parsed.data;
  if ((workdir === undefined) === (repo === undefined)) {
    throw new SvcError("validation", "a code task needs either extra.workdir or extra.repo");
  }
  const unchecked = criteria.find((it) => !it.command && !it.file_exists && !it.content_match);
  if (unchecked !== undefined) {
    throw new SvcError(
      "validation",
      `extra.acceptance_criteria: "${unchecked.id}" needs command, file_exists or content_match`,
    );
  }
  const place = workdir === undefined ? { repo: repo!, ref } : { workdir };
  return { ...rest, place, criteria, prompt: [description, query].filter(Boolean).join("\n\n") };
}
