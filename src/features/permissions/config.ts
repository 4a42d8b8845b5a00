import * as z from "zod";
import { section } from "../../config/section.ts";
import { messageOf } from "../../protocol/errors.ts";
import { type Action, parseRule } from "./rule.ts";

const rules = (action: Action, what: string) =>
  z.array(
    z.string().superRefine((text, context) => {
      try {
        parseRule(action, text);
      } catch (error) {
        context.addIssue(messageOf(error));
      }
    }),
  ).max(500).default([]).describe(what);

export const PERMISSIONS = section("permissions", () =>
  z.strictObject({
    deny: rules("deny", "Rules for calls that are refused"),
    ask: rules("ask", "Rules for calls that need your approval in every mode"),
    allow: rules("allow", "Rules for calls that run without a question in sessions that ask"),
  }).prefault({}));
