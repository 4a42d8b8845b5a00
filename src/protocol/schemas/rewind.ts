/** What a rewind changed. */
import * as z from "zod";

export const rewindResultSchema = () =>
  z.object({
    rewind_id: z.string().optional().describe("Absent for a dry run"),
    message_id: z.string(),
    files: z.array(z.string()).describe("The files that changed, the first 1,000"),
    files_changed: z.int(),
    files_deleted: z.int().describe("How many of them were deleted"),
    kept: z.array(
      z.object({
        path: z.string(),
        reason: z.enum(["changed", "not_stored"]).describe(
          "changed: somebody else changed it since; not_stored: undo could not bring it back",
        ),
      }),
    ).describe("The files that were not restored, the first 1,000"),
    kept_count: z.int(),
    conversation: z.boolean().describe("Whether the conversation went back"),
    refused: z.boolean().describe(
      "Whether this was a dry run of what would be refused, because of files in `kept`",
    ),
  });
