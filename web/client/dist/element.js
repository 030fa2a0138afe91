var h={joining:"One moment",waiting:"You are in line",ready:"It is your turn",active:"You are in",completed:"Done. Thank you for waiting",left:"You left the line",evicted:"You were removed from the line",expired:"Your session has ended",failed:"This line is not available",closed:"Waiting has stopped"};function r(i){return i.status==="expired"&&i.isMissedTurn?"You missed your turn":h[i.status]}function l(i){let{status:e,connection:t,problem:n}=i;return e==="failed"?`${n?.message}.`:t==="offline"?"Your device is offline. Your place is kept.":t!=="online"?"No answer at the moment. Trying again.":e==="waiting"&&!i.estimatedWaitSeconds?"The line stands still for a moment. Your place is kept.":e==="waiting"?"Keep this page open. Reloading it does not lose your place.":""}function c(i){if(!i)return"";let[e,t]=i.high<90?[1,"seconds"]:i.high<7200?[60,"minutes"]:[3600,"hours"],n=Math.floor(i.low/e),s=Math.ceil(i.high/e);return n===s?`about ${s} ${t}`:`${n} to ${s} ${t}`}function d(i){if(Number.isNaN(i))return"";let e=Math.max(0,Math.round(i/1e3));return`${Math.floor(e/60)}:${String(e%60).padStart(2,"0")}`}import{joinQueue as p}from"./vestibule.js";var m=`
:host {
  display: block;
  padding: var(--vestibule-padding, 1.5rem);
  border-radius: var(--vestibule-radius, .5rem);
  background: var(--vestibule-ground, #fff);
  color: var(--vestibule-ink, #1d2433);
  font: var(--vestibule-font, 1rem/1.5 system-ui, sans-serif);
  text-align: center;
}
:host([hidden]), [hidden] { display: none !important }
h2, p { margin: 0 0 .5em }
[part=number] { color: var(--vestibule-accent, #2457d6); font-size: 3em; font-weight: 700; line-height: 1.2 }
[part=hint] { color: var(--vestibule-soft, #5a6478) }
button {
  padding: .6em 1.2em;
  border: 1px solid var(--vestibule-accent, #2457d6);
  border-radius: var(--vestibule-radius, .5rem);
  background: none;
  color: var(--vestibule-accent, #2457d6);
  font: inherit;
  cursor: pointer;
}`,b=`<div aria-live=polite><h2 part=headline></h2><p part=message></p><p part=hint></p></div>
<p part=number></p><p part=wait></p>
<button part=claim>Enter now</button> <button part=leave>Leave the line</button><button part=join>Join the line</button>`,v=250,a=class extends(globalThis.HTMLElement??Object){static observedAttributes=["queue","base","confirm"];options={};place;#t;#n;#a;connectedCallback(){if(!this.#t){this.#t=this.attachShadow({mode:"open"}),this.#t.innerHTML=b;let e=new CSSStyleSheet;e.replaceSync(m),this.#t.adoptedStyleSheets=[e],this.#e("claim").onclick=()=>{this.place?.claim()},this.#e("leave").onclick=()=>{this.place?.leave()},this.#e("join").onclick=()=>{this.#s(),this.#n?.postMessage(0)}}this.#n=new BroadcastChannel(`vestibule:${this.getAttribute("queue")}`),this.#n.onmessage=()=>this.#e("join").hidden||this.#s(),this.#a=setInterval(()=>this.#l(),v),this.#s()}disconnectedCallback(){clearInterval(this.#a),this.#n?.close(),this.#o()}attributeChangedCallback(){this.place&&this.#s()}#o(){let{place:e}=this;this.place=void 0,e?.close()}#s(){this.#o();let{queue:e="",base:t="",confirm:n="auto"}=Object.fromEntries([...this.attributes].map(({name:o,value:u})=>[o,u])),s=this.place=p({queue:e,base:t,confirm:n,...this.options});s.subscribe(o=>s===this.place&&this.#r(o)),this.#r(s.state)}#r(e){let{status:t}=e,n=["waiting","ready","active"].includes(t);this.#i("headline",r(e)),this.#i("message",e.queue.message),this.#i("hint",l(e)),this.#i("wait",t==="waiting"?c(e.estimatedWaitSeconds):""),this.#l(),this.#e("claim").hidden=!(t==="ready"&&e.needsInput),this.#e("leave").hidden=!n,this.#e("join").hidden=n||t==="joining";let s=new CustomEvent("vestibule-state",{detail:e,bubbles:!0,composed:!0,cancelable:!0});if(this.dispatchEvent(s)&&t==="active"&&e.pass&&e.targetUrl){this.#o();let o=new URL(e.targetUrl);o.hash=String(new URLSearchParams({pass:e.pass})),location.replace(o)}}#l(){let e=this.place?.state,t=e?.status==="waiting"&&e.position?.toLocaleString(),n=e&&"endsAtMs"in e?e.endsAtMs:Number.NaN;this.#i("number",t||d(n-performance.now()))}#i(e,t){let n=this.#e(e);n.hidden=t==="",n.textContent!==t&&(n.textContent=t)}#e(e){return this.#t.querySelector(`[part=${e}]`)}};globalThis.customElements?.define("vestibule-line",a);export{a as VestibuleLine};
