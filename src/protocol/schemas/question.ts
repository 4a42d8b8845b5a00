import * as z from "zod";
import { DESCRIPTION_MAX, LABEL_MAX, OPTIONS_MAX, QUESTION_MAX } from "../person_question.ts";

export const personQuestionSchema = () =>
  z.strictObject({
    question: z.string().trim().min(1).max(QUESTION_MAX),
    options: z.array(z.strictObject({
      label: z.string().trim().min(1).max(LABEL_MAX),
      description: z.string().trim().min(1).max(DESCRIPTION_MAX).optional(),
    })).max(OPTIONS_MAX).optional().describe("What the person may choose from"),
    multiple: z.boolean().optional().describe("Whether several options may be chosen"),
    free_text: z.boolean().optional()
      .describe("Whether the person may answer in their own words (default: true)"),
  });
