/** Output of background commands. */
import * as z from "zod";

export const outputPieceSchema = () =>
  z.object({
    text: z.string().describe(
      "Without terminal escape sequences; a line marks dropped output",
    ),
    next: z.int().describe("Where to continue reading, in bytes from the beginning of the output"),
    dropped: z.int().describe("Bytes before the text that are no longer kept"),
    left: z.int().describe("Bytes after the text"),
  });
