// The page of mcprec view.
import { h, render } from "preact";
import { Page } from "./page.jsx";

render(<Page />, document.getElementById("app"));
