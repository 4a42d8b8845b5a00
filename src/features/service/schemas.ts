import * as z from "zod";

export const installedServiceSchema = () =>
  z.object({
    unit_path: z.string().describe("Path of the unit file"),
    written: z.string().describe("Content of the unit file"),
    changed: z.boolean().describe("False if the same unit was already installed"),
  });
