/** Runs the edits of cases.ts through the tool's own code, without files. */
import { decodeText } from "../../src/base/edits/encoding.ts";
import { EditProblem } from "../../src/base/edits/edit.ts";
import { editText } from "../../src/base/edits/edit_text.ts";
import { bytesOf, EDIT_CASES, type EditCase } from "./cases.ts";

/** `right`: the file is as wanted; `refused`: nothing was changed; `wrong`: it is another file. */
export type Verdict = "right" | "refused" | "wrong";

export interface EditResult {
  name: string;
  verdict: Verdict;
  /** What the model is told of a refusal. */
  said?: string;
}

export function runEditCase({ name, file, edits, want }: EditCase): EditResult {
  const decoded = decodeText(bytesOf(file))!;
  try {
    const text = edits.reduce((text, edit) => editText(text, edit).text, decoded.text);
    const got = decoded.encode(text);
    const wanted = want === "refuse" ? undefined : bytesOf(want);
    const same = wanted?.length === got.length && got.every((byte, n) => byte === wanted[n]);
    return { name, verdict: same ? "right" : "wrong" };
  } catch (error) {
    if (!(error instanceof EditProblem || error instanceof RangeError)) throw error;
    return { name, verdict: want === "refuse" ? "right" : "refused", said: error.message };
  }
}

if (import.meta.main) {
  const results = EDIT_CASES.map(runEditCase);
  for (const { name, verdict, said } of results) {
    console.log(`${verdict.padEnd(8)} ${name}${said === undefined ? "" : `\n         ${said}`}`);
  }
  const count = (wanted: Verdict) => results.filter(({ verdict }) => verdict === wanted).length;
  console.log(
    `\n${results.length} edits: ${count("right")} right, ${count("refused")} refused, ` +
      `${count("wrong")} wrong`,
  );
}
