package redact

import (
	"strings"
	"sync"
)

// kinds are four bytes of each literal, by bucket, such that little else is in a bucket:
// of three bytes what may follow is the fourth. A literal that has none of them goes where it does the
// least harm.
var kinds = [buckets]string{
	`abia,aida,api-,app-,aroa,asia,atp-,csk-,csp-,ef01,ico-,ldt-,lrt-,ptt-,pul-,sdk-,sig=,ure=,ypi-`,
	`:aa,ck.c,dose,pass,pk-,po_l,rk_l,rk_t,sk-a,sk-p,sk_,sk_l,sk_p,sk_t`,
	`acca,aiza,asv1,att3,cipa,cred,ctt3,gr13,lsv2,ltai,lyv1,sk0,sk1,sk3,sk4,sk5,sk6,ska,skc,skd,ske,skf,wsec`,
	`absk,ars_,e2b_,ems_,ess_,exa_,fm2_,fo1_,ghp_,ghr_,ghs_,npm_,nrak,ntn_,ops_,org_,sbp_,sgp_,vcp_`,
	`eaaa,eaag,ezak,eztk,pat_,pmak,pnu_,rnd_,rys_,ryu_,t0s1`,
	`cio,cvc,eyj,eyjr,figd,fio-,fw_,hf_,hvb.,oy2,sk2,sk7,skb,sws `,
	` -u ,--us,/api,cvv,mtps,napi,nfp_,otp,s-pr,shpc,shpp,shps,sqp_,squ_`,
	`--be,csk_,dme_,dor_,eare,ecre,ive_,toke,tske`,
	`akia,akid,md-,sg.,sk-,sk-a,sk-o,sk-s,sk8,sk9,sl.`,
	`1//0,7q~,8q~,9q~,://,a3-,r8_,t1.,v1.0`,
	`dckr,dp.p,dp.s,fc-,glcb,glc_,glff,glft,glsa,glso,gsk_,tk-u,whse`,
	`a29.,akcp,atbb,c01.,hrku,nrii,n_ap`,
	`ale_,bkua,box-,doo_,dop_,gho_,ghu_,glag,glim,gloa,glpa,p8e-,phx_,plx-,tfp_,vly-,xai-,xoxa,xoxo`,
	`1\/\,:\/\,auth,el_b,el_l,jwt,key,key-,keys,xoxb,xoxc,xoxd,xoxe,xoxp,xoxr,xoxs`,
	`aqvn,basi,dapi,eaac,gocs,hvr.,hvs.,ioni,moni,ooki`,
	`nrjs,pat,pat-,phps,pwd,\u00`,
}

var kindsOf = sync.OnceValue(func() map[string]int {
	of := map[string]int{}
	for k, list := range kinds {
		for four := range strings.SplitSeq(list, ",") {
			of[folded(four)] = k
		}
	}
	return of
})

// kindOf returns the bucket of four bytes of a literal, if they have one.
func kindOf(four string) (kind int, ok bool) {
	kind, ok = kindsOf()[four]
	return kind, ok
}
