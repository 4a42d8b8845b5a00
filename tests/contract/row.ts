/** One row of a contract document as a test of its own. */
import { can_run_svc } from "../support/svc.ts";

/** The document a row comes from. */
export type ContractDocument = "product" | "contract";

/** Between the parts of a test's name; `table.ts` splits at it. */
export const ROW_SEPARATOR = " | ";

export interface RowOptions {
  /** The system cannot show it. */
  ignore?: boolean;
  /** What is not built yet, and so cannot hold: the row is there and waits for it. */
  open?: string;
}

/** Registers the test of one row; left out where the run may not start processes. */
export function row(
  document: ContractDocument,
  section: string,
  row: string,
  fn: () => Promise<void> | void,
  options: RowOptions = {},
): void {
  Deno.test({
    name: [document, section, row].join(ROW_SEPARATOR),
    ignore: !can_run_svc || options.ignore === true || options.open !== undefined,
    fn,
  });
}
