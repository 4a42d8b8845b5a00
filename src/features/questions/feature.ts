import { feature } from "../../verbs/feature.ts";
import { questionVerbs } from "./verbs.ts";

/** Lets a session's model ask the person. */
export const questions = feature({
  name: "questions",
  verbs: questionVerbs,
  open: ({ hub }) => ({
    services: { hub },
    tools: async () => [(await import("./tool.ts")).askUserTool()],
  }),
});
