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
	`"dsn,"pin,bkua,dis-,dose,gosh,odum,ogin,oken,okie,oks.,oxe.,oxs-`,
	`7q~,9q~,:aa,basi,bsa,jqqj,rase,t1.,ysql`,
	`@uni,\u00,auth,ezak,eztk,ldap,ltai`,
	`0atp,@tcp,ctt3,cvc,cvv,pass,pat,pat.,pwd,sws `,
	`1//0,1\/\,8q~,://,:\/\,a3-,dp.p,dp.s,fc-,fw_,hf_`,
	`_pw_,dme_,fct-,ghr_,ghu_,ico-,igd_,imt-,ina_,ive-,ive_,ldt-,lft-,nfp_,npm_,ntn_,oat-,ode=,oxb-,oxd-,oxe-,oxo-,oxp-,oxr-,p8e-,pat-,pat_,pca_,pnu_,ppa_,ppo_,ptt-,rku-,rnd_,ryu_,sdk-,sgp_,squ_,tfp_,tkn_,tto_,vcp_`,
	`akcp,akia,akid,begi,nect,seck,secr,sk0,sk2,sk3,sk4,sk6,sk8,sk9,skb,skc,skd,skf,webh`,
	`m0-,md-,mdgt,mnem,sg.,sig=,sign,sk-a,sk-o,sk-p,sk.e,sk5,sk7,ske,sl.`,
	`"pw,"ssn,-us,-us-,-use,key,key-,key_,keys,r8_,re_`,
	`cflt,ha25,hvb.,hvr.,hvs.,ivat,r134,sv1.,ya29`,
	`cio,ckr_,eaaa,eaac,eaag,eare,ey-1,eyj,eyjr,oy2,pa-,pk-,pka_,sion,sk-,sk-a,sk-s,sk1,sk_,sk_l,sk_p,sk_t,ska`,
	`_dsn,_mmk,absk,aqvn,atbb,att3,s4t2,smbc,sqlc`,
	`1.0-,agen,dapi,pul-,pypi,twin`,
	` -u ,"-u,dt0c,dt0s,jwt,lyv1,otp`,
	`_sa_,_v1_,aat_,aik_,aio_,api-,api_,app-,ars_,bik_,cbt-,csk-,csk_,csp-,e2b_,ems_,ess-,ess_,est_,exa_,fio-,fm2_,fo1_,gho_,ghp_,ghs_,glc_,gsk_,lob_,lrt-,lsa_,mak-,oas-,ops_,oxa-,oxc-,pat-,pat_,phx_,plx-,pss_,rak-,rii-,rjs-,rys_,rzp_,sbp_,sib-,spx-,sqa_,sqp_,sv2_,vly-,xai-`,
	`abia,acca,aida,aiza,aria,aroa,asia,cred,fied,hsec,ssid`,
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
