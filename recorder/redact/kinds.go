package redact

import (
	"strings"
	"sync"
)

// kinds are four bytes of each literal, by bucket, such that little else is in a bucket,
// of whole bytes and of halves: three are followed by what may follow. They were chosen
// by trying, on pages of text, logs, code, JSON and base64; a literal that has none of
// them goes where it does the least harm, and is found all the same.
var kinds = [buckets]string{
	`"dsn,"pin,-us,-use,dose,egin,hpse,mong,moni`,
	`"ssn,:aa,basi,bsa,rase,ysql`,
	`@uni,\u00,atp-,auth,edph,ezak,eztk,ldap,ltai,pmak,pul-`,
	`@tcp,ctt3,cvc,cvv,jwt,pass,pat,pat-,pat.,pwd,s4t2,sws `,
	`1//0,1\/\,7q~,8q~,9q~,://,:\/\,dp.p,dp.s,hf_,sg.,sk.e,sk_,sk_p,sk_t,sl.,t1.`,
	`dis-,dme_,gho_,ghr_,ghu_,igd_,ina_,ive-,ive_,ldt-,lft-,nfp_,npm_,ntn_,oas-,oat-,oat_,ode=,ops_,oxb-,oxd-,oxe-,oxo-,oxr-,oxs-,p8e-,pat-,pat_,pnu_,ptt-,rak-,rii-,rjs-,rku-,rnd_,rys_,ryu_,sdk-,sgp_,sqa_,sqp_,squ_,tfp_,tkn_,tto_,xai-`,
	`akcp,nect,sec_,seck,secr,sk0,sk2,sk3,sk4,sk6,sk7,sk8,sk9,skb,skc,skd,skf`,
	`m0-,md-,mdgt,sig=,sign,sk-a,sk-o,sk5,ske`,
	`a3-,fc-,flyv,fw_,key,key-,key_,keys,r8_,re_`,
	`_aat,_v1_,cflt,ha25,hvb.,hvr.,hvs.,ivat,ive_,oks.,oxe.,r134,sv1.,sv2_`,
	`cio,eaaa,eaac,eaag,eare,eyj,eyjr,oy2,pa-,pk-,pka_,sion,sk-,sk-a,sk-p,sk-s,sk1,ska`,
	`_dsn,_mmk,acca,aida,aiza,atbb,att3,qlcm,smbc`,
	`agen,aqvn,dapi,ogin,oken,qj99,tifi,twin,ya29`,
	` -u ,"-u,"pw,dt0c,dt0s,k-us,otp`,
	`_pw_,_sa_,aik_,aio_,api-,api_,app-,ars_,cbt-,csk-,csk_,csp-,e2b_,ems_,ery_,ess-,ess_,est_,exa_,fct-,fio-,fm2_,fo1_,ghp_,ghs_,glc_,gsk_,ico-,imt-,lob_,lrt-,lsa_,oxa-,oxc-,oxp-,pca_,phx_,plx-,ppa_,ppo_,pss_,sbp_,sib-,spx-,vcp_,vly-,ypi-`,
	`1.0-,abia,absk,akia,akid,aria,aroa,asia,bkua,cbik,cook,cred,hook`,
}

var kindsByText = sync.OnceValue(func() map[string][]int {
	by := map[string][]int{}
	for k, list := range kinds {
		for four := range strings.SplitSeq(list, ",") {
			by[folded(four)] = append(by[folded(four)], k)
		}
	}
	return by
})

// kindsOf returns the buckets that have four bytes of a literal.
func kindsOf(four string) []int { return kindsByText()[four] }
