/** The panels beside a conversation. */
export { default as changes } from "../changes/panel.tsx";
export { default as files } from "../files/panel.tsx";
