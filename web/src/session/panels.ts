/** The panels beside a conversation. */
import "./views.ts";
export { default as changes } from "../changes/panel.tsx";
export { default as files } from "../files/panel.tsx";
